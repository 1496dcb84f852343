/**
 * The loyalty configuration of a space as commands see it.
 *
 * @module
 */

import { type CliContext, CliError, type LocatedDocument } from "../command.ts";
import { exits } from "../exits.ts";
import type { Server, Told } from "../server.ts";

/** A configuration that a server has. */
export interface RemoteConfiguration {
  readonly document: unknown;
  readonly etag: string;
  readonly version: number;
  readonly digest: string;
}

/** What was last known of the server's configuration when the file beside it was written. */
export interface Base {
  readonly url: string;
  readonly space: string;
  readonly etag: string;
  readonly digest: string;
  /** ISO 8601. */
  readonly pulled_at: string;
}

/** The path of a space's configuration. */
export function configurationPath({ space }: Server): string {
  return `/api/v2/spaces/${encodeURIComponent(space)}/loyalty`;
}

/** The server's configuration; null where the space has none. */
export async function remoteConfiguration(server: Server): Promise<RemoteConfiguration | null> {
  const told = await server.ask(configurationPath(server), { expected: [404] });
  if (told.status !== 404) return configurationOf(told);
  // A space that is unknown answers 404 here too, and then its versions do as well.
  await server.ask(`${configurationPath(server)}/versions`);
  return null;
}

/**
 * The configuration that an answer holds.
 *
 * @throws {CliError} The answer is none of the control API.
 */
export function configurationOf({ json, etag }: Told): RemoteConfiguration {
  const { data } = json as {
    readonly data?: {
      readonly attributes: unknown;
      readonly meta: { readonly version: number; readonly digest: string };
    };
  };
  if (data?.meta === undefined || etag === null) {
    throw new CliError(exits.failed, "The server answered something that is no loyalty configuration", {
      code: "wrong_answer",
    });
  }
  return { document: data.attributes, etag, version: data.meta.version, digest: data.meta.digest };
}

/** The file that remembers what was last known of the server. */
function basePath(file: string): string {
  return `${file}.base.json`;
}

/** What was last known of this server and space; null where nothing was. */
export async function readBase(
  file: string,
  { files }: CliContext,
  { url, space }: Server,
): Promise<Base | null> {
  const base = (await files.read(basePath(file)))?.document as Base | undefined;
  return base?.url === url && base.space === space ? base : null;
}

/** Remembers what is known of the server now. */
export async function writeBase(
  file: string,
  { files, clock }: CliContext,
  { server, remote }: { readonly server: Server; readonly remote: RemoteConfiguration },
): Promise<void> {
  const { url, space } = server;
  const { etag, digest } = remote;
  const base: Base = { url, space, etag, digest, pulled_at: new Date(clock()).toISOString() };
  await files.write(basePath(file), base);
}

/**
 * Reads a configuration and checks it as the server does.
 *
 * @throws {CliError} There is no such file, or what is in it is not valid; the details name every fault with its place.
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
