/**
 * Commands that move a configuration between a server and a file.
 *
 * @module
 */

import type { configurationAnswers } from "../../fans/loyalty/mod.ts";
import { createApiClient, type SpaceClient, spaceFlags } from "../api_client.ts";
import { type AnswerOf, type ApiAnswer, dataOf, unknownAnswer } from "../frame/client.ts";
import type { CliContext, CliInput, CliResult, CommandSpec } from "../frame/command.ts";
import { CliError, exits } from "../frame/errors.ts";
import type { LocatedDocument } from "../frame/host.ts";
import { record } from "../frame/output.ts";

const file = { name: "file", description: "JSON or YAML" };

export const validateCommand: CommandSpec = {
  words: ["loyalty", "validate"],
  summary: "Check a loyalty configuration without a server",
  examples: ["loyalty validate loyalty.yaml"],
  output: record({ valid: [null, "flag"], digest: [null, "text"] }),
  exits: { [exits.invalid]: "the configuration has faults" },
  args: [file],
  flags: {},
  async run({ args: [path = ""] }, context) {
    const { document } = await readValid(path, context);
    const digest = await digestOf(document);
    return { data: { valid: true, digest }, shown: `${path} is valid\n` };
  },
};

export const pullCommand: CommandSpec = {
  words: ["loyalty", "pull"],
  summary: "Write the configuration of a space to a file, or to stdout for -",
  changes: "writes the file, and the base of the next push beside it",
  examples: ["loyalty pull loyalty.yaml", "loyalty pull - --space $SPACE"],
  requests: 1,
  output: record({
    version: "whole",
    digest: "text",
    etag: [null, "text"],
    file: "text?",
    document: [null, "json"],
  }),
  exits: { [exits.conflict]: "the file has changes that were never pushed" },
  args: [file],
  flags: {
    ...spaceFlags,
    force: { description: "Overwrite local changes" },
  },
  run: pull,
};

export const pushCommand: CommandSpec = {
  words: ["loyalty", "push"],
  summary:
    "Make the configuration in a file the newest version, unless the server's changed since the last pull",
  changes: "makes the configuration of the file the newest version",
  examples: ["loyalty push loyalty.yaml", "loyalty push loyalty.yaml --force"],
  requests: 1,
  output: record({ version: "whole", digest: "text", etag: [null, "text"], changed: "flag" }),
  exits: { [exits.conflict]: "the server has a version that was never pulled" },
  args: [file],
  flags: { ...spaceFlags, force: { description: "Replace any version on the server" } },
  run: push,
};

async function pull(input: CliInput, context: CliContext): Promise<CliResult> {
  const server = await createApiClient(input, context);
  const [path = ""] = input.args;
  const remote = await remoteConfiguration(server);
  if (remote === null) {
    throw new CliError(exits.notFound, "The space has no loyalty configuration yet", { code: "not_found" });
  }
  const { document, version, digest, etag } = remote;
  const data = { version, digest, etag };
  if (path === "-") {
    return { data: { ...data, file: null, document }, shown: `${JSON.stringify(document, null, 2)}\n` };
  }
  const local = await localDigest(path, context);
  const base = await readBase(path, context, server);
  const isOwn = local !== null && local !== base?.digest && local !== digest;
  if (isOwn && !("force" in input.flags)) {
    throw new CliError(exits.conflict, `Cannot overwrite ${path}: it holds changes that were never pushed`, {
      code: "local_changes",
      hint: "push them, or pull with --force to give them up",
    });
  }
  // An equal file may have comments and a layout of its own.
  if (local !== digest) await context.files.write(path, document);
  await writeBase(path, context, { server, remote });
  return { data: { ...data, file: path, document: null }, notes: [`Version ${version} is in ${path}`] };
}

async function push(input: CliInput, context: CliContext): Promise<CliResult> {
  const [path = ""] = input.args;
  const { document, locate } = await readValid(path, context);
  const server = await createApiClient(input, context);
  const precondition =
    "force" in input.flags
      ? matching(await remoteConfiguration(server))
      : matching(await readBase(path, context, server));
  const answer = await server
    .send<typeof configurationAnswers.ConfigurationSchema>(configurationPath(server), {
      method: "PUT",
      body: document,
      headers: precondition,
    })
    .catch((error: unknown) => {
      throw located(error, locate);
    });
  const remote = configurationOf(answer);
  await writeBase(path, context, { server, remote });
  const { version, digest, etag } = remote;
  const isSame = precondition["if-match"] === etag;
  const note = isSame ? `No change: version ${version} is equal` : `Version ${version} is now in force`;
  return { data: { version, digest, etag, changed: !isSame }, notes: [note] };
}

/** Returns the precondition of a push: the known version, or that there is none. */
function matching(remote: Pick<RemoteConfiguration, "etag"> | null): Readonly<Record<string, string>> {
  return remote === null ? { "if-none-match": "*" } : { "if-match": remote.etag };
}

function located(error: unknown, locate: (pointer: string) => string): unknown {
  if (!(error instanceof CliError)) return error;
  const { exit, message, options } = error;
  if (options.status === 412) {
    const hint = "pull to see what changed, or push with --force to replace it";
    return new CliError(exit, "The server has a version that was never pulled", { ...options, hint });
  }
  const details = (options.details ?? []).map(line =>
    line.startsWith("/") ? `${locate(line.slice(0, line.indexOf(": ")))} ${line}` : line,
  );
  return new CliError(exit, message, { ...options, details });
}

/** Returns the digest of the document in a file; null if there is no such file. */
async function localDigest(path: string, { files }: CliContext): Promise<string | null> {
  const read = await files.read(path);
  return read === null ? null : await digestOf(read.document);
}

/** Computes the digest that the server gives a document. */
async function digestOf(document: unknown): Promise<string> {
  const { documentDigest } = await import("../../fans/directory/loyalty_versions.ts");
  return documentDigest(document);
}

interface RemoteConfiguration {
  readonly document: unknown;
  readonly etag: string;
  readonly version: number;
  readonly digest: string;
}

/** The server's configuration at the time of the last pull or push. */
interface Base {
  readonly url: string;
  readonly space: string;
  readonly etag: string;
  readonly digest: string;
  /** ISO 8601. */
  readonly pulled_at: string;
}

export function configurationPath({ space }: SpaceClient): string {
  return `/api/v2/spaces/${encodeURIComponent(space)}/loyalty`;
}

/** Fetches the server's configuration; null if the space has none. */
async function remoteConfiguration(server: SpaceClient): Promise<RemoteConfiguration | null> {
  const path = configurationPath(server);
  const answer = await server.send<typeof configurationAnswers.ConfigurationSchema>(path, {
    expected: [404],
  });
  if (answer.status !== 404) return configurationOf(answer);
  // A space that is unknown answers 404 here too, and then its versions do as well.
  await server.send(`${path}/versions`);
  return null;
}

/**
 * Reads the configuration of an answer.
 *
 * @throws {CliError} The answer is not one of the control API.
 */
export function configurationOf(
  answer: ApiAnswer<AnswerOf<typeof configurationAnswers.ConfigurationSchema>>,
): RemoteConfiguration {
  const { attributes, meta } = dataOf(answer, "meta");
  const { etag } = answer;
  if (etag === null) throw unknownAnswer();
  return { document: attributes, etag, version: meta.version, digest: meta.digest };
}

/** Reads the base for this server and space; null if there is none. */
async function readBase(
  file: string,
  { files }: CliContext,
  { url, space }: SpaceClient,
): Promise<Base | null> {
  const base = (await files.read(`${file}.base.json`))?.document as Base | undefined;
  return base?.url === url && base.space === space ? base : null;
}

async function writeBase(
  file: string,
  { files, clock }: CliContext,
  { server, remote }: { readonly server: SpaceClient; readonly remote: RemoteConfiguration },
): Promise<void> {
  const { url, space } = server;
  const { etag, digest } = remote;
  const base: Base = { url, space, etag, digest, pulled_at: new Date(clock()).toISOString() };
  await files.write(`${file}.base.json`, base);
}

/**
 * Reads a configuration and checks it as the server does.
 *
 * @throws {CliError} There is no such file, or it is invalid; the details name every fault with its position.
 */
export async function readValid(file: string, context: CliContext): Promise<LocatedDocument> {
  const read = await context.files.read(file);
  if (read === null) {
    throw new CliError(exits.failed, `Cannot read ${file}: there is no such file`, { code: "missing_file" });
  }
  const faults = await context.loyaltyFaults(read.document);
  if (faults.length === 0) return read;
  throw new CliError(exits.invalid, `The loyalty configuration in ${file} is not valid`, {
    code: "validation_failed",
    details: faults.map(({ pointer, detail }) => `${read.locate(pointer)} ${pointer}: ${detail}`),
  });
}
