/**
 * Commands that move a configuration between a server and a file.
 *
 * @module
 */

import type { configurationAnswers } from "../../fans/loyalty/mod.ts";
import { createApiClient, spaceFlags } from "../api_client.ts";
import type { CliContext, CliInput, CliResult, CommandSpec } from "../frame/command.ts";
import { CliError, exits } from "../frame/errors.ts";
import { record } from "../frame/output.ts";
import {
  configurationOf,
  configurationPath,
  type RemoteConfiguration,
  readBase,
  readValid,
  remoteConfiguration,
  writeBase,
} from "./configuration.ts";

const file = { name: "file", description: "JSON or YAML" };

/** `loyalty validate`. */
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

/** `loyalty pull`. */
export const pullCommand: CommandSpec = {
  words: ["loyalty", "pull"],
  summary: "Write the configuration of a space to a file, or to stdout for -",
  changes: "writes the file, and the base of the next push beside it",
  examples: ["loyalty pull loyalty.yaml", "loyalty pull - --space $SPACE"],
  requests: 1,
  output: record({
    version: ["VERSION", "whole"],
    digest: ["DIGEST", "text"],
    etag: [null, "text"],
    file: ["FILE", "text?"],
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

/** `loyalty push`. */
export const pushCommand: CommandSpec = {
  words: ["loyalty", "push"],
  summary:
    "Make the configuration in a file the newest version, unless the server's changed since the last pull",
  changes: "makes the configuration of the file the newest version",
  examples: ["loyalty push loyalty.yaml", "loyalty push loyalty.yaml --force"],
  requests: 1,
  output: record({
    version: ["VERSION", "whole"],
    digest: ["DIGEST", "text"],
    etag: [null, "text"],
    changed: ["CHANGED", "flag"],
  }),
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

/** Adds the hint about a conflict, and the positions of faults in the file. */
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
