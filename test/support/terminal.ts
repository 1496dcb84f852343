/** Runs command lines in this process: files are in memory, and the server is a function. */

import assert from "node:assert/strict";
import { parseDocumentText } from "../../lib/base/text/document.ts";
import type { Settings } from "../../lib/cli/frame/profile.ts";
import {
  type CliContext,
  CliError,
  type CliHost,
  type CliInput,
  type CliResult,
  exits,
  groups,
  invalid,
  runCommandLine,
} from "../../lib/cli/mod.ts";

/** Input of a command. */
export type Given = Partial<Pick<CliInput, "args" | "lists">> & {
  readonly flags?: Readonly<Record<string, string>>;
};

const notHere = (): Promise<never> => Promise.reject(new Error("not here"));

/** The surroundings of a command line. */
export interface Surroundings {
  readonly fetch?: (request: Request) => Promise<Response>;
  readonly variables?: Readonly<Record<string, string>>;
  /** Files by path; written ones are added. `-` is stdin. */
  readonly files?: Map<string, string | Uint8Array>;
  /** What a person types at each question; undefined: nobody is there. */
  readonly answers?: readonly string[];
  /** True if stdout and stderr are a terminal. @default whether there are answers */
  readonly isTerminal?: boolean;
  /** Unix ms. */
  readonly clock?: () => number;
  readonly host?: Partial<CliHost>;
  /** Aborts at Ctrl-C. */
  readonly interruption?: AbortSignal;
}

/** The outcome of a command line. */
export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  /** The requests that it sent, as `METHOD /path`. */
  readonly requests: readonly string[];
  /** The document of `--json`. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into documents of every form.
  readonly json: any;
  /** The error of `--json`. */
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  readonly error: any;
}

const configPath = "config.json";

/** Runs a command line, given as its arguments or as text without quotes. */
export async function runCli(line: string | readonly string[], around: Surroundings = {}): Promise<Outcome> {
  const args = typeof line === "string" ? line.split(" ").filter(word => word !== "") : line;
  const requests: string[] = [];
  const printed = { stdout: "", stderr: "" };
  const host = testHost(around, printed, requests);
  const code = await runCommandLine(args, host, groups);
  return {
    code,
    ...printed,
    requests,
    get json() {
      return JSON.parse(printed.stdout);
    },
    get error() {
      return JSON.parse(printed.stderr.trimEnd().split("\n").at(-1) ?? "").error;
    },
  };
}

/** A host in memory. */
export function testHost(
  {
    fetch,
    variables = {},
    files = new Map(),
    answers,
    isTerminal = answers !== undefined,
    ...more
  }: Surroundings,
  printed: { stdout: string; stderr: string } = { stdout: "", stderr: "" },
  requests: string[] = [],
): CliHost {
  const left = [...(answers ?? [])];
  const never = new AbortController().signal;
  const textOf = (path: string): string | null => {
    const content = files.get(path);
    return content === undefined
      ? null
      : typeof content === "string"
        ? content
        : new TextDecoder().decode(content);
  };
  return {
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      requests.push(`${request.method} ${pathname}${search}`);
      return await (fetch ?? notHere)(request);
    },
    pause: () => Promise.resolve(),
    random: () => 0.5,
    uniqueId: () => crypto.randomUUID(),
    timeLimit: () => never,
    clock: more.clock ?? (() => 0),
    variables: { GRANDSTAND_CONTROL_URL: "http://127.0.0.1", ...variables },
    interruption: () => more.interruption ?? never,
    files: {
      async read(path) {
        const text = textOf(path);
        if (text === null) return null;
        try {
          return parseDocumentText(text, path);
        } catch (error) {
          throw invalid(error instanceof Error ? error.message : String(error));
        }
      },
      async readText(path, bytesMax) {
        const text = textOf(path);
        if (text !== null && text.length > bytesMax)
          throw invalid(`${path} must not exceed ${bytesMax} bytes`);
        return text;
      },
      async open(path) {
        const content = files.get(path);
        if (content === undefined) return null;
        const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
        return { bytes: bytes.length, stream: () => new Blob([new Uint8Array(bytes)]).stream() };
      },
      async names(folder) {
        const start = folder === "." ? "" : `${folder}/`;
        const below = [...files.keys()].filter(path => path.startsWith(start));
        return below.map(path => path.slice(start.length)).filter(name => !name.includes("/"));
      },
      async write(path, document) {
        files.set(path, `${JSON.stringify(document, null, 2)}\n`);
      },
      async writeText(path, text) {
        files.set(path, text);
      },
    },
    terminal: {
      isTerminal: { stdin: answers !== undefined, stdout: isTerminal, stderr: isTerminal },
      width: 100,
      async print(text) {
        printed.stdout += text;
      },
      warn(text) {
        printed.stderr += text;
      },
      status(text) {
        printed.stderr += `${text}\r`;
      },
      async ask(question) {
        printed.stderr += question;
        return left.shift() ?? null;
      },
    },
    config: {
      path: configPath,
      read: async () => ({ text: textOf(configPath), isShared: false }),
      async write(text) {
        files.set(configPath, text);
      },
      async token(source) {
        const token = "file" in source ? textOf(source.file) : "env" in source ? variables[source.env] : null;
        if (token !== null && token !== undefined) return token;
        throw new CliError(exits.unauthenticated, "Cannot read the token of the profile", {
          code: "not_logged_in",
        });
      },
      async writeToken(file, token) {
        if (token === null) files.delete(file);
        else files.set(file, token);
      },
    },
    specChecks: notHere,
    serve: notHere,
    memoryStore: notHere,
    loyaltyFaults: async () => [],
    playScenarios: notHere,
    bootstrapOperator: notHere,
    bootstrapKey: notHere,
    inKeyRing: notHere,
    applySeed: notHere,
    sealAnew: notHere,
    indexUsers: notHere,
    migrate: notHere,
    rebuildBoard: notHere,
    doctor: notHere,
    explainToken: notHere,
    backUp: notHere,
    restore: notHere,
    decryptExport: notHere,
    ...more.host,
  };
}

/** A context in which commands find no files and no store, and only the server that is given. */
export function cliContext(
  given: Partial<CliContext> & { readonly secret?: string; readonly controlUrl?: string },
): CliContext {
  const { secret, controlUrl = "http://127.0.0.1", ...more } = given;
  const settings: Settings = {
    profileName: "default",
    profile: {},
    controlUrl,
    isJson: false,
    isQuiet: false,
    isVerbose: false,
    isInteractive: false,
    hasColors: false,
    hasConsent: false,
    timeoutMs: 30_000,
  };
  const host = testHost({
    ...(secret === undefined ? {} : { variables: { GRANDSTAND_API_SECRET: secret } }),
  });
  return {
    ...host,
    settings,
    groups,
    api: notHere,
    confirm: () => Promise.resolve(),
    progress: () => {},
    done: () => {},
    note: () => {},
    ...more,
  };
}

/** Runs the command of these words. */
export async function runCommand(
  context: CliContext,
  words: string,
  { args = [], flags = {}, lists = {} }: Given,
): Promise<CliResult> {
  const group = groups.find(({ word }) => word === words.split(" ")[0]);
  const command = (await group?.load())?.find(one => one.words.join(" ") === words);
  assert.ok(command !== undefined, words);
  return await command.run({ args, flags: { key: "gsk_test", ...flags }, lists }, context);
}
