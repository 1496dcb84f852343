/**
 * The cost of users with a password: logins beside the key derivation alone, other requests during a storm of logins, and
 * a check and a profile with a token seen before beside a bare server that answers the same bytes. In memory.
 *
 *     npm run bench -- login [rounds]
 *
 * A login's cost is the processor time of all threads of the process, since that hardly depends on what else the machine
 * does. Latencies do depend on it: quiet and stormy periods take turns, and beside them stands how late the server's event
 * loop was, with and without the time in which it was ready to run and had no core.
 *
 * @module
 */

import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { nativeKernels } from "../../adapters/native/mod.ts";
import { systemRandom } from "../../lib/auth/crypto/mod.ts";
import { createPasswordHasher } from "../../lib/auth/passwords/mod.ts";
import { ids, openPlatform, type TestPlatform } from "../support/platform.ts";
import { figure } from "./figure.ts";
import { bundleForBench, canMeasure, compare, median, ratio, table, type Variant } from "./harness.ts";
import { checkLatencies, percentile, stormOfLogins } from "./login_load.ts";
import type { Lateness } from "./login_server.ts";
import { type Commits, recordCommits } from "./recorded_commits.ts";

const rounds = Number(process.argv[2] ?? 3);
const loginsPerRound = 8;
const periodMs = 4_000;
const pool = { projectId: ids.project, strategy: "email", provider: "managedPool" };
const credentials = { email: "ann@example.com", password: "correct horse battery" };
const deviceId = "0123abcd-0000-4000-8000-00000000000d";
const login = { method: "PUT", body: { ...pool, data: { ...credentials, deviceId } } };
/** Other users log in during a storm: a user keeps some sessions only, and the token's must stay. */
const stranger = { ...credentials, email: "bob@example.com" };
const paths = {
  check: `/v1/user/check?${new URLSearchParams({ ...pool, deviceId })}`,
  profile: `/v1/user?${new URLSearchParams(pool)}`,
};

interface Prepared {
  readonly world: TestPlatform;
  readonly commits: Readonly<Commits>;
  readonly token: string;
}

/** A platform with one user, and every commit that made it, so that servers can start from the same data. */
async function prepare(): Promise<Prepared> {
  const commits: Commits = [];
  const world = await openPlatform(async clock => recordCommits(createMemoryStore({ clock }), commits), {
    clock: Date.now,
    passwordKernels: nativeKernels(),
  });
  for (const data of [credentials, stranger]) await world.call("/v1/user", { body: { ...pool, data } });
  const token: string = (await world.call("/v1/user/login", login)).json.data.accessToken;
  await world.call(paths.check, { token });
  await world.platform.idle();
  return { world, commits: [...commits], token };
}

/** Processor time of this process per piece of work, in ms. */
async function cpuMs(count: number, work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  for (let done = 0; done < count; done++) await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000 / count;
}

async function measureLogins(world: TestPlatform): Promise<void> {
  const hasher = createPasswordHasher({ random: systemRandom, kernels: nativeKernels() });
  const phc = await hasher.hash(credentials.password);
  const derive = (): Promise<unknown> => hasher.verify(phc, credentials.password);
  const logIn = async (): Promise<void> => {
    const { status } = await world.call("/v1/user/login", login);
    if (status !== 200) throw new Error(`A login answered ${status}`);
  };
  const samples: { kdf: number; login: number }[] = [];
  for (let round = 0; round < rounds; round++) {
    const isForward = round % 2 === 0;
    const first = await cpuMs(loginsPerRound, isForward ? derive : logIn);
    const second = await cpuMs(loginsPerRound, isForward ? logIn : derive);
    samples.push(isForward ? { kdf: first, login: second } : { kdf: second, login: first });
  }
  const kdf = median(samples.map(one => one.kdf));
  const perLogin = median(samples.map(one => one.login));
  const share = median(samples.map(one => one.kdf / one.login));
  console.log(`\nlogins (${hasher.id}), median of ${rounds} rounds of ${loginsPerRound}\n`);
  console.log(`| | processor ms | per core second |\n|---|---|---|`);
  console.log(`| key derivation alone | ${kdf.toFixed(1)} | ${(1_000 / kdf).toFixed(2)} |`);
  console.log(`| login | ${perLogin.toFixed(1)} | ${(1_000 / perLogin).toFixed(2)} |`);
  figure("logins to the raw password hash", share.toFixed(2), "0.9");
}

async function measureStorm(server: string, scene: string, token: string): Promise<void> {
  const child = spawn(process.execPath, [server, scene], { stdio: ["ignore", "pipe", "inherit"] });
  process.once("exit", () => child.kill("SIGKILL"));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const line = async (): Promise<string> => String((await lines.next()).value);
  const lateness = async (): Promise<Lateness> => {
    child.kill("SIGUSR2");
    return JSON.parse(await line()) as Lateness;
  };
  try {
    const url = (await line()).replace(/\/$/, "");
    const target = { url: `${url}${paths.check}`, token, periodMs };
    await checkLatencies(target);
    const samples: StormSample[] = [];
    for (let round = 0; round < rounds; round++) {
      await lateness();
      const quiet = percentile(await checkLatencies(target), 99);
      const quietLoop = await lateness();
      const storm = stormOfLogins(`${url}/v1/user/login`, { ...pool, data: stranger });
      const stormy = percentile(await checkLatencies(target), 99);
      const stormyLoop = await lateness();
      const logins = (await storm.stop()) / (periodMs / 1_000);
      samples.push({ quiet, stormy, quietLoop, stormyLoop, logins });
    }
    printStorm(samples);
  } finally {
    child.kill("SIGKILL");
  }
}

interface StormSample {
  readonly quiet: number;
  readonly stormy: number;
  readonly quietLoop: Lateness;
  readonly stormyLoop: Lateness;
  readonly logins: number;
}

function printStorm(samples: readonly StormSample[]): void {
  const loads = loadavg().map(load => load.toFixed(1));
  console.log(`\nGET /v1/user/check, p99 in ms, quiet and during logins; machine load ${loads.join(" ")}\n`);
  console.log("| round | check | event loop late | of that its own | logins/s |\n|---|---|---|---|---|");
  for (const [round, { quiet, stormy, quietLoop, stormyLoop, logins }] of samples.entries()) {
    const pairs = [
      [quiet, stormy],
      [quietLoop.all, stormyLoop.all],
      [quietLoop.own, stormyLoop.own],
    ] as const;
    const cells = pairs.map(([before, during]) => `${before.toFixed(2)} → ${during.toFixed(2)}`);
    console.log(`| ${round + 1} | ${cells.join(" | ")} | ${logins.toFixed(1)} |`);
  }
  const worse = median(samples.map(({ quiet, stormy }) => stormy / quiet));
  const own = median(samples.map(({ quietLoop, stormyLoop }) => stormyLoop.own / quietLoop.own));
  figure("p99 of GET /v1/user/check in a login storm to its quiet p99", `${worse.toFixed(1)} times`, "3");
  console.log(`the same of the event loop's own lateness: ${own.toFixed(2)}`);
}

/** Where `npm ci --prefix test/bench` installs better-auth. */
const peers = fileURLToPath(new URL("./node_modules/better-auth", import.meta.url));
const betterAuth: Variant = {
  name: "better-auth",
  command: [
    process.execPath,
    "--import",
    "tsx",
    fileURLToPath(new URL("./better_auth_server.ts", import.meta.url)),
    fileURLToPath(new URL("./node_modules", import.meta.url)),
  ],
};

const bench = (name: string): Promise<string> =>
  bundleForBench(fileURLToPath(new URL(name, import.meta.url)));
const folder = mkdtempSync(join(tmpdir(), "grandstand-login-"));
try {
  const { world, commits, token } = await prepare();
  const answers: Record<string, string> = {};
  for (const path of Object.values(paths)) answers[path] = (await world.call(path, { token })).text;
  const scene = join(folder, "scene.json");
  writeFileSync(scene, JSON.stringify({ commits, answers }));
  await measureLogins(world);
  await world.dispose();
  await measureStorm(await bench("./login_server.ts"), scene, token);
  if (canMeasure()) {
    const server = await bench("./http_stack_server.ts");
    const variants = ["bare", "grandstand"];
    const servers = variants.map(name => ({
      name,
      command: [process.execPath, server, name, scene] as const,
    }));
    for (const [name, path] of Object.entries(paths)) {
      const headers = { authorization: `Bearer ${token}` };
      const isCheck = path === paths.check && existsSync(peers);
      const rows = await compare(
        isCheck ? [...servers, betterAuth] : servers,
        { path, headers },
        { rounds, repeats: 1 },
      );
      if (isCheck) {
        const times = ratio(rows, "grandstand", "better-auth").toFixed(1);
        figure("session check, to better-auth's get-session", `${times} times as many a core second`);
      }
      console.log(`\nGET ${name}\n\n${table(rows)}`);
      figure(`GET ${name}, token seen before, to bare`, ratio(rows, "grandstand", "bare").toFixed(2), "0.6");
    }
  } else {
    console.log("Cannot measure check and profile: this needs Linux and wrk");
  }
} finally {
  rmSync(folder, { recursive: true });
}
