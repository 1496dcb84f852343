/**
 * Downloads: the link itself is the right to the file.
 *
 * A link that was changed, was made up, has expired, or leads to a file that is no longer there is one and the same 404.
 *
 * @module
 */

import * as v from "valibot";
import { networkTag } from "../../auth/mod.ts";
import { AppError } from "../../errors/mod.ts";
import {
  type AnyRoute,
  type Guard,
  isNotModified,
  looseRoute,
  matchesTag,
  type Reply,
} from "../../http/mod.ts";
import type { LimitRule } from "../../storage/mod.ts";
import { downloadPath, type Exports } from "../exports.ts";
import { fileStream } from "../file/file_stream.ts";
import { piecesOf } from "../file/parts.ts";
import { type ExportJob, type ExportResult, statusAt } from "../jobs/job.ts";
import type { ExportAddress } from "../jobs/partitions.ts";
import { trailNetworkBits } from "../jobs/trail.ts";
import { byteRange, rangeStillCounts } from "./byte_range.ts";

/** How often a file may be asked for, whole or in ranges, with whatever links. */
export const downloadLimit: LimitRule = { name: "download", limit: 120, windowMs: 60_000 };

type Service = Pick<Exports, "find" | "record" | "capabilities" | "blobs" | "clock">;

/** Builds the route of downloads. */
export function downloadRoutes({ exports }: { readonly exports: Service }): readonly AnyRoute[] {
  return [
    looseRoute({
      method: "GET",
      path: `${downloadPath}:capability`,
      operation: "downloadAudienceExport",
      summary: "The file of an export, or a range of its bytes, for whoever has the link",
      auth: bearerOfLink(exports),
      params: v.object({ capability: v.string() }),
      responses: {
        200: { description: "The file" },
        206: { description: "The bytes of the range" },
        304: { description: "The file has an entity tag that If-None-Match names" },
        416: { description: "The file has no such bytes" },
      },
      errors: ["not_found", "precondition_failed"],
      rateLimit: {
        rules: [downloadLimit],
        subject: ({ principal }) => `download:${principal.exportId}`,
      },
      handle: ({ principal, request, info, requestId }) =>
        download(exports, principal, { request, requestId, client: info.address ?? "" }),
    }),
  ];
}

/** Lets in who has a link, and tells of no other whether it ever was one. */
function bearerOfLink({ capabilities }: Service): Guard<ExportAddress> {
  return {
    security: [],
    errors: ["not_found"],
    authenticate({ params }) {
      const address = capabilities.read(params.capability ?? "");
      if (address === null) throw noSuchFile();
      return address;
    },
  };
}

interface Visit {
  readonly request: Request;
  readonly requestId: string;
  readonly client: string;
}

async function download(exports: Service, address: ExportAddress, visit: Visit): Promise<Reply> {
  const { find, blobs, clock } = exports;
  const found = await find(address);
  const result = found?.job.result ?? null;
  if (found === null || result === null || blobs === undefined) throw noSuchFile();
  if (statusAt(found.job, clock()) !== "completed") throw noSuchFile();
  const isHead = visit.request.method === "HEAD";
  const headers = headersOf(found.job, result);
  assertExpected(visit.request, result);
  if (isNotModified(visit.request, etagOf(result))) return { status: 304, headers: { etag: etagOf(result) } };
  const range = isHead ? null : rangeOf(visit.request, result);
  if (range === "unsatisfiable") {
    return { status: 416, headers: { ...headers, "content-range": `bytes */${result.fileSize}` } };
  }
  const { first, last } = range ?? { first: 0, last: result.fileSize - 1 };
  const body = await fileStream(blobs, piecesOf(found.job), { start: first, end: last + 1 });
  if (!isHead) {
    const noted = note(exports, address, { ...visit, range: range === null ? null : `${first}-${last}` });
    await noted.catch(async (error: unknown) => {
      await body.cancel();
      throw error;
    });
  }
  const length = { "content-length": String(last - first + 1) };
  if (range === null) return { status: 200, body, headers: { ...headers, ...length } };
  const place = { "content-range": `bytes ${first}-${last}/${result.fileSize}` };
  return { status: 206, body, headers: { ...headers, ...length, ...place } };
}

/** Nobody downloads what the trail does not tell of. */
async function note(
  { record, clock }: Service,
  { organisationId, exportId }: ExportAddress,
  { client, requestId, range }: Visit & { readonly range: string | null },
): Promise<void> {
  const addressTag = networkTag(client, trailNetworkBits);
  await record(organisationId, {
    at: clock(),
    event: "downloaded",
    exportId,
    requestId,
    ...(addressTag === undefined ? {} : { addressTag }),
    ...(range === null ? {} : { range }),
  });
}

function rangeOf({ headers }: Request, result: ExportResult): ReturnType<typeof byteRange> {
  if (!rangeStillCounts(headers.get("if-range"), etagOf(result))) return null;
  return byteRange(headers.get("range"), result.fileSize);
}

/** @throws {AppError} `precondition_failed`: the client goes on with another file, as `If-Match` says. */
function assertExpected({ headers }: Request, result: ExportResult): void {
  const expected = headers.get("if-match");
  if (expected === null || matchesTag(expected, etagOf(result))) return;
  const message = "Cannot send the file: it is not the one that If-Match names";
  throw new AppError("precondition_failed", message, { headers: { etag: etagOf(result) } });
}

function etagOf({ sha256 }: ExportResult): string {
  return `"${sha256}"`;
}

function headersOf({ exportId, request }: ExportJob, result: ExportResult): Readonly<Record<string, string>> {
  const name = `export-${exportId}.${request.format}${request.encrypt ? ".enc" : ""}`;
  return {
    "content-type": request.encrypt ? "application/octet-stream" : mediaTypes[request.format],
    "content-disposition": `attachment; filename="${name}"`,
    "accept-ranges": "bytes",
    etag: etagOf(result),
    "referrer-policy": "no-referrer",
    "content-security-policy": "default-src 'none'; sandbox",
  };
}

const mediaTypes = { csv: "text/csv; charset=utf-8; header=present", json: "application/json" } as const;

function noSuchFile(): AppError {
  return new AppError("not_found", "Cannot find a file behind this link: it may have expired");
}
