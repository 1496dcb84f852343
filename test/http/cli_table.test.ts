/** What every command of the control API has in common, from the table of commands. */

import assert from "node:assert/strict";
import { after, afterEach, describe, it } from "node:test";
import { Ajv } from "ajv";
import { schemaOf } from "../../lib/cli/frame/output.ts";
import { type CommandSpec, groups, requestsOf } from "../../lib/cli/mod.ts";
import type { Surroundings } from "../support/terminal.ts";
import { type CliExample, type CliWorld, cliExamples, exampleArgs, openCliWorld } from "./_cli_examples.ts";

const commands = (await Promise.all(groups.map(({ load }) => load()))).flat();
const called = commands.filter(({ words }) => words.join(" ") in cliExamples);
const nameOf = ({ words }: CommandSpec): string => words.join(" ");
const ajv = new Ajv({ formats: { "date-time": true } });

/** Commands with requests that other tests cover, because they call other parts of the platform. */
const elsewhere =
  /^(login|logout|loyalty|mails|webhooks|keys|actions|exports|users|projects client-token|workflow run)\b/;

const uuid = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/;
const unknownId = "0fffffff-0000-4000-8000-0000000000ff";

function refusing(status: number, code: string): Surroundings {
  const body = { errors: [{ status: String(status), code, title: code, detail: "No" }] };
  return {
    fetch: async () =>
      Response.json(body, { status, headers: { "content-type": "application/vnd.api+json" } }),
  };
}

interface Prepared {
  readonly world: CliWorld;
  readonly args: readonly string[];
  readonly around: Surroundings;
}

describe("every command of the control API", () => {
  const opened: CliWorld[] = [];
  afterEach(async () => {
    for (const world of opened.splice(0)) await world.dispose();
  });

  /** Opens a fresh platform with what the first example of a command needs. */
  /** Opens a platform with what the first example of a command needs. */
  async function prepare(command: CommandSpec, worlds: CliWorld[]): Promise<() => Prepared> {
    const world = await openCliWorld();
    worlds.push(world);
    const example: CliExample = (await cliExamples[nameOf(command)]?.(world)) ?? {};
    const { variables = {}, files, answers } = example;
    const args = exampleArgs(command, { ...world.variables, ...variables });
    return () => ({
      world,
      args,
      around: {
        ...(files === undefined ? {} : { files: new Map(files) }),
        ...(answers === undefined ? {} : { answers }),
      },
    });
  }

  it("has an example", () => {
    const missing = commands.filter(
      command =>
        requestsOf(command) > 0 && !(nameOf(command) in cliExamples) && !elsewhere.test(nameOf(command)),
    );
    assert.deepEqual(missing.map(nameOf), []);
    const names = commands.map(nameOf);
    const withoutCommand = Object.keys(cliExamples).filter(name => !names.includes(name));
    assert.deepEqual(withoutCommand, [], "a command is missing: is its group in lib/cli/groups.ts?");
  });

  for (const command of called) {
    const flags = Object.entries(command.flags ?? {});

    describe(`grandstand ${nameOf(command)}`, () => {
      const kept: CliWorld[] = [];
      let shared: Promise<() => Prepared> | null = null;
      after(async () => {
        for (const world of kept) await world.dispose();
      });

      /** For what must change nothing: one platform. */
      async function untouched(): Promise<Prepared> {
        shared ??= prepare(command, kept);
        return (await shared)();
      }

      /** For what may change something: a fresh platform. */
      async function fresh(): Promise<Prepared> {
        return command.changes === undefined ? await untouched() : (await prepare(command, opened))();
      }

      it("works as its first example says, with the number of requests of the table", async () => {
        const { world, args, around } = await fresh();
        const { code, stderr, requests } = await world.cli(args, around);
        assert.equal(code, 0, stderr);
        assert.equal(requests.length, requestsOf(command), requests.join("\n"));
      });

      it("prints one document of its schema with --json, on a terminal and off", async () => {
        for (const isTerminal of [false, true]) {
          const { world, args, around } = await fresh();
          const outcome = await world.cli(["--json", ...args], { ...around, isTerminal });
          assert.equal(outcome.code, 0, outcome.stderr);
          assert.equal(outcome.stdout.split("\n").length, 2);
          const validate = ajv.compile(schemaOf(command.output));
          assert.ok(validate(outcome.json.data), JSON.stringify([validate.errors, outcome.json.data]));
        }
      });

      it("prints nothing to stderr with --quiet", async () => {
        const { world, args, around } = await fresh();
        const { code, stderr } = await world.cli([...args, "--quiet"], around);
        assert.deepEqual([code, stderr], [0, ""]);
      });

      it("refuses wrong usage before any request", async () => {
        const { world, args, around } = await untouched();
        const required = flags.filter(([, spec]) => spec.required === true && spec.profile === undefined);
        const wrong: [readonly string[], RegExp][] = [
          [[...args, "--profil", "x"], /There is no --profil\. Did you mean --profile\?/],
          [[...args, "--json", "--json"], /--json is given more than once/],
          [[...args, "--timeout", "0"], /--timeout must be a whole number/],
          [[...args, "--timeout="], /--timeout needs a value/],
          ...(command.args?.at(-1)?.repeated === true
            ? []
            : [[[...args, "surplus"], /takes no argument|must be|needs/] as [string[], RegExp]]),
          ...required.map(([name]): [readonly string[], RegExp] => [
            args.filter((arg, at) => arg !== `--${name}` && args[at - 1] !== `--${name}`),
            new RegExp(`needs --${name}`),
          ]),
        ];
        for (const [line, message] of wrong) {
          const { code, stdout, stderr, requests } = await world.cli(line, around);
          assert.deepEqual([code, stdout, requests], [2, "", []], line.join(" "));
          assert.match(stderr, message);
        }
      });

      it("reports refusals with the exit code of their status, as one line with --json", async () => {
        const statuses = [
          [401, "unauthenticated", 4],
          [403, "forbidden", 5],
          [404, "not_found", 6],
          [412, "precondition_failed", 7],
          [500, "internal_error", 1],
        ] as const;
        const { world, args, around } = await untouched();
        for (const [status, code, exit] of statuses) {
          const outcome = await world.cli([...args, "--json"], { ...around, ...refusing(status, code) });
          assert.deepEqual([outcome.code, outcome.stdout], [exit, ""], `${status}: ${outcome.stderr}`);
          assert.equal(outcome.error.code, code);
          assert.equal(outcome.error.status, status);
          assert.equal(outcome.error.retryable, false);
          if (status === 401) assert.equal(outcome.error.next, "grandstand login");
        }
      });

      it("ends with 6 where there is nothing of an id, wherever the id stands", async () => {
        const { args } = await untouched();
        for (const [at, word] of args.entries()) {
          if (!uuid.test(word)) continue;
          const { world, around } = await fresh();
          const line = args.with(at, word.replace(uuid, unknownId));
          const { code, stdout, stderr } = await world.cli(line, around);
          assert.deepEqual([code, stdout], [6, ""], `${line.join(" ")}\n${stderr}`);
        }
      });

      it("tries again where the platform is busy, no earlier than it says", async () => {
        const { world, args, around } = await fresh();
        const pauses: number[] = [];
        const refused = new Set<string>();
        const { code, stderr } = await world.cli(args, {
          ...around,
          async fetch(request) {
            const key = `${request.method} ${request.url}`;
            if (refused.has(key)) return await world.platform.fetch(request);
            refused.add(key);
            return new Response(null, { status: 429, headers: { "retry-after": "2" } });
          },
          host: { pause: async ms => void pauses.push(ms) },
        });
        assert.equal(code, 0, stderr);
        assert.ok(pauses.length > 0 && pauses.every(ms => ms >= 2_000), String(pauses));
      });

      if ("yes" in (command.flags ?? {})) {
        it("changes nothing without consent", async () => {
          const { world, args, around } = await untouched();
          for (const [answers, exit] of [
            [undefined, 2],
            [["n"], 10],
            [[""], 10],
            [[], 10],
          ] as const) {
            const line = args.filter(arg => arg !== "--yes");
            const { code, requests } = await world.cli(line, {
              ...around,
              ...(answers === undefined ? {} : { answers }),
            });
            assert.equal(code, exit);
            assert.deepEqual(
              requests.filter(one => !one.startsWith("GET ")),
              [],
            );
          }
        });
      }

      if ("dry-run" in (command.flags ?? {})) {
        it("changes nothing with --dry-run", async () => {
          const { world, args, around } = await untouched();
          const before = await world.audit();
          const { code, stderr, requests } = await world.cli([...args, "--dry-run"], around);
          assert.equal(code, 0, stderr);
          const writes = requests.filter(one => !one.startsWith("GET ") && !one.includes("dry_run=true"));
          assert.deepEqual(writes, []);
          assert.deepEqual(await world.audit(), before);
        });
      }
    });
  }
});
