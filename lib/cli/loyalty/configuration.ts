/**
 * Access of commands to the loyalty configuration of a space.
 *
 * @module
 */

import type { configurationAnswers } from "../../fans/loyalty/mod.ts";
import type { SpaceClient } from "../api_client.ts";
import { type AnswerOf, type ApiAnswer, dataOf, unknownAnswer } from "../frame/client.ts";
import type { CliContext } from "../frame/command.ts";
import { CliError, exits } from "../frame/errors.ts";
import type { LocatedDocument } from "../frame/host.ts";

/** A configuration on a server. */
export interface RemoteConfiguration {
  readonly document: unknown;
  readonly etag: string;
  readonly version: number;
  readonly digest: string;
}

/** The server's configuration at the time of the last pull or push. */
export interface Base {
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
export async function remoteConfiguration(server: SpaceClient): Promise<RemoteConfiguration | null> {
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
export async function readBase(
  file: string,
  { files }: CliContext,
  { url, space }: SpaceClient,
): Promise<Base | null> {
  const base = (await files.read(`${file}.base.json`))?.document as Base | undefined;
  return base?.url === url && base.space === space ? base : null;
}

/** Stores the base. */
export async function writeBase(
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
