/**
 * The mails about exports.
 *
 * @module
 */

import type { Mail } from "../../../base/outbound/outbound.ts";
import { type ExportFault, type ExportJob, publicFault } from "./job.ts";

/** Writes the mail about a finished file. Its password is null if the mail must not contain it. */
export function linkMail(
  to: string,
  { exportId, result, request, expiresAt }: ExportJob,
  { link, password }: { readonly link: string; readonly password: string | null },
): Mail {
  return {
    to,
    kind: "exportCompleted",
    subject: "Your export is ready",
    text: paragraphs([
      `The export ${exportId} is ready: ${result?.rowCount ?? 0} users, ${result?.fileSize ?? 0} bytes.`,
      `Download it until ${new Date(expiresAt).toISOString()}:\n${link}`,
      passwordLine(request.encrypt, password),
      "Anyone with this link can download the file: do not forward it.",
    ]),
  };
}

function passwordLine(isEncrypted: boolean, password: string | null): string {
  if (!isEncrypted) return "The file is not encrypted.";
  return password === null ? "Its password is sent separately." : `Its password is ${password}`;
}

/** Writes the mail with the password only. */
export function passwordMail(to: string, { exportId }: ExportJob, password: string): Mail {
  return {
    to,
    kind: "exportPassword",
    subject: "The password of an export",
    text: paragraphs([
      `The password of the export ${exportId} is ${password}`,
      "The link to the file was sent in another mail.",
    ]),
  };
}

export function failedMail(to: string, exportId: string, fault: ExportFault): Mail {
  return {
    to,
    kind: "exportFailed",
    subject: "Your export failed",
    text: paragraphs([
      `The export ${exportId} failed: there is no file.`,
      `The reason: ${publicFault(fault).message}`,
    ]),
  };
}

function paragraphs(texts: readonly string[]): string {
  return `${texts.join("\n\n")}\n`;
}
