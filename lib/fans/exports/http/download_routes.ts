/**
 * Downloads: the link itself grants access to the file.
 *
 * A changed, forged or expired link and one to a removed file have the same answer, 404.
 */

import * as v from "valibot";
import { networkTag } from "../../../auth/client_address.ts";
import { AppError } from "../../../base/errors/mod.ts";
import { type BareReply, type Guard, route } from "../../../http/mod.ts";
import { byteReply } from "../../../http/replies/byte_reply.ts";
import type { Blobs, LimitRule } from "../../../storage/mod.ts";
import type { Exports } from "../exports.ts";
import { downloadPath } from "../jobs/download_link.ts";
import type { ExportRef } from "../jobs/job.ts";
import { type ExportJob, type ExportResult, statusAt } from "../jobs/job.ts";
import { fileParts, fileStream } from "../jobs/stored_file.ts";

/** The limit on requests for one file, with any of its links. */
const downloadLimit: LimitRule = { name: "download", limit: 120, windowMs: 60_000 };
/** Size of the network of a client in the audit trail, in bits. */
const trailNetworkBits = { ipv4: 24, ipv6: 64 } as const;
const mediaTypes = { csv: "text/csv; charset=utf-8; header=present", json: "application/json" } as const;

/** Creates the route of downloads. */
export function downloadRoutes({ exports }: { readonly exports: Exports }) {
  return [
    route({
      method: "GET",
      path: `${downloadPath}:capability`,
      operation: "downloadAudienceExport",
      summary: "Download the file of an export, or a range of its bytes",
      description:
        "The link grants access, so no credentials are sent. Supports one `Range`, `If-Range`, `If-Match` and `If-None-Match`.",
      auth: linkGuard(exports),
      params: v.object({ capability: v.pipe(v.string(), v.description("The secret part of the link")) }),
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

function linkGuard({ capabilities }: Exports): Guard<ExportRef> {
  return {
    security: [],
    errors: ["not_found"],
    authenticate({ params }) {
      const ref = capabilities.verify(params.capability ?? "");
      if (ref === null) throw noSuchFile();
      return ref;
    },
  };
}

interface DownloadRequest {
  readonly request: Request;
  readonly requestId: string;
  readonly client: string;
}

async function download(
  exports: Exports,
  ref: ExportRef,
  details: DownloadRequest,
): Promise<BareReply<200 | 206 | 304 | 416>> {
  const { request } = details;
  const { job, result, blobs } = await findFile(exports, ref);
  return await byteReply(request, {
    etag: `"${result.sha256}"`,
    size: result.fileSize,
    headers: headersOf(job),
    async open({ start, end, isPart }) {
      const body = await fileStream(blobs, fileParts(job), { start, end });
      if (request.method === "HEAD") return body;
      const range = isPart ? `${start}-${end - 1}` : null;
      await record(exports, ref, { ...details, range }).catch(async (error: unknown) => {
        await body.cancel();
        throw error;
      });
      return body;
    },
  });
}

async function findFile(
  exports: Exports,
  ref: ExportRef,
): Promise<{ readonly job: ExportJob; readonly result: ExportResult; readonly blobs: Blobs }> {
  const found = await exports.find(ref);
  const { blobs, clock } = exports;
  const result = found?.job.result ?? null;
  if (found === null || result === null || blobs === undefined) throw noSuchFile();
  if (statusAt(found.job, clock()) !== "completed") throw noSuchFile();
  return { job: found.job, result, blobs };
}

/** Records a download in the audit trail. A download that cannot be recorded is refused. */
async function record(
  exports: Exports,
  { organisationId, exportId }: ExportRef,
  { client, requestId, range }: DownloadRequest & { readonly range: string | null },
): Promise<void> {
  const addressTag = networkTag(client, trailNetworkBits);
  await exports.record(organisationId, {
    at: exports.clock(),
    event: "downloaded",
    exportId,
    requestId,
    ...(addressTag === undefined ? {} : { addressTag }),
    ...(range === null ? {} : { range }),
  });
}

function headersOf({ exportId, request }: ExportJob): Readonly<Record<string, string>> {
  const name = `export-${exportId}.${request.format}${request.encrypt ? ".enc" : ""}`;
  return {
    "content-type": request.encrypt ? "application/octet-stream" : mediaTypes[request.format],
    "content-disposition": `attachment; filename="${name}"`,
    "referrer-policy": "no-referrer",
    "content-security-policy": "default-src 'none'; sandbox",
  };
}

function noSuchFile(): AppError {
  return new AppError("not_found", "Cannot find a file behind this link: it may have expired");
}
