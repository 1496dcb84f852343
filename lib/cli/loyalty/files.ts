/** Commands that move a configuration between a server and a file. */

import type { LocatedDocument } from "../../base/text/document.ts";
import type { configurationAnswers } from "../../fans/loyalty/mod.ts";
import { createApiClient, type SpaceClient, spaceFlags } from "../api_client.ts";
import { readBase, writeBase } from "../frame/base_file.ts";
import { type AnswerOf, type ApiAnswer, dataOf, unknownAnswer } from "../frame/client.ts";
import type { CliContext, CommandSpec } from "../frame/command.ts";
import { CliError, conflict, exits, invalid, notFound } from "../frame/errors.ts";
import { record } from "../frame/output.ts";

const file = { name: "file", description: "JSON or YAML" };

export const validateCommand: CommandSpec = {
  words: ["loyalty", "validate"],
  summary: "Check a loyalty configuration without a server",
  examples: ["loyalty validate loyalty.yaml"],
  requests: 0,
  output: record({ valid: [null, "flag"], digest: [null, "text"] }),
  exits: { [exits.invalid]: "the configuration has faults" },
  args: [file],
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
  async run(input, context) {
    const server = await createApiClient(input, context);
    const [path = ""] = input.args;
    const remote = await remoteConfiguration(server);
    if (remote === null) {
      throw notFound("The space has no loyalty configuration yet");
    }
    const { document, version, digest, etag } = remote;
    const data = { version, digest, etag };
    if (path === "-") {
      return { data: { ...data, file: null, document }, shown: `${JSON.stringify(document, null, 2)}\n` };
    }
    const local = await localDigest(path, context);
    const { url, space } = server;
    const base = await readBase<Base>(path, { url, space }, context);
    const isOwn = local !== null && local !== base?.digest && local !== digest;
    if (isOwn && !("force" in input.flags)) {
      throw conflict(`Cannot overwrite ${path}: it holds changes that were never pushed`, {
        code: "local_changes",
        hint: "push them, or pull with --force to give them up",
      });
    }
    // An equal file may have comments and a layout of its own.
    if (local !== digest) await context.files.write(path, document);
    await writeBase(path, { url, space, etag, digest }, context);
    return { data: { ...data, file: path, document: null }, notes: [`Version ${version} is in ${path}`] };
  },
};

export const pushCommand: CommandSpec = {
  words: ["loyalty", "push"],
  summary:
    "Make the configuration in a file the newest version, unless the server's changed since the last pull",
  changes: "makes the configuration of the file the newest version",
  examples: ["loyalty push loyalty.yaml", "loyalty push loyalty.yaml --force"],
  output: record({ version: "whole", digest: "text", etag: [null, "text"], changed: "flag" }),
  exits: { [exits.conflict]: "the server has a version that was never pulled" },
  args: [file],
  flags: { ...spaceFlags, force: { description: "Replace any version on the server" } },
  async run(input, context) {
    const [path = ""] = input.args;
    const { document, locate } = await readValid(path, context);
    const server = await createApiClient(input, context);
    const { url, space } = server;
    const precondition = matching(
      "force" in input.flags
        ? await remoteConfiguration(server)
        : await readBase<Base>(path, { url, space }, context),
    );
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
    const { version, digest, etag } = remote;
    await writeBase(path, { url, space, etag, digest }, context);
    const isSame = precondition["if-match"] === etag;
    const note = isSame ? `No change: version ${version} is equal` : `Version ${version} is now in force`;
    return { data: { version, digest, etag, changed: !isSame }, notes: [note] };
  },
};

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

async function localDigest(path: string, { files }: CliContext): Promise<string | null> {
  const read = await files.read(path);
  return read === null ? null : await digestOf(read.document);
}

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
}

export function configurationPath({ space }: SpaceClient): string {
  return `/api/v2/spaces/${encodeURIComponent(space)}/loyalty`;
}

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

/**
 * Reads a configuration and checks it as the server does.
 *
 * @throws {CliError} There is no such file, or it is invalid; the details name every fault with its position.
 */
export async function readValid(file: string, context: CliContext): Promise<LocatedDocument> {
  const read = await readDocument(file, context);
  const faults = await context.loyaltyFaults(read.document);
  if (faults.length === 0) return read;
  throw invalid(`The loyalty configuration in ${file} is not valid`, {
    details: faults.map(({ pointer, detail }) => `${read.locate(pointer)} ${pointer}: ${detail}`),
  });
}

export async function readDocument(path: string, { files }: CliContext): Promise<LocatedDocument> {
  const file = await files.read(path);
  if (file !== null) return file;
  throw new CliError(exits.failed, `Cannot read ${path}: there is no such file`, { code: "missing_file" });
}
