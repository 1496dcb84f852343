/**
 * The mails about exports.
 *
 * @module
 */

import type { Mail } from "../../outbound/mailer.ts";
import { toldFault } from "./faults.ts";
import type { ExportFault, ExportJob } from "./job.ts";

/** What a mail says of a file that is there. */
export interface Link {
  readonly link: string;
  /** Null: it comes another way, or the file has none. */
  readonly password: string | null;
}

/** The mail about a file that is there. */
export function linkMail(to: string, job: ExportJob, { link, password }: Link): Mail {
  const { exportId, result, request, expiresAt } = job;
  return {
    to,
    kind: "exportCompleted",
    subject: "Your export is ready",
    text: lines([
      `The export ${exportId} is ready: ${result?.rowCount ?? 0} users, ${result?.fileSize ?? 0} bytes.`,
      `Download it until ${new Date(expiresAt).toISOString()}:\n${link}`,
      passwordLine(request.encrypt, password),
      "Whoever has this link can download the file: do not pass it on.",
    ]),
  };
}

function passwordLine(isEncrypted: boolean, password: string | null): string {
  if (!isEncrypted) return "The file is not encrypted.";
  return password === null ? "Its password comes another way." : `Its password is ${password}`;
}

/** The mail with the password alone. */
export function passwordMail(to: string, { exportId }: ExportJob, password: string): Mail {
  return {
    to,
    kind: "exportPassword",
    subject: "The password of an export",
    text: lines([
      `The password of the export ${exportId} is ${password}`,
      "The link to the file was sent to whoever asked for it.",
    ]),
  };
}

/** The mail about a file that could not be made, with the reason. */
export function failedMail(to: string, exportId: string, fault: ExportFault): Mail {
  return {
    to,
    kind: "exportFailed",
    subject: "Your export failed",
    text: lines([
      `The export ${exportId} could not be finished: there is no file.`,
      `The reason: ${toldFault(fault).message}`,
    ]),
  };
}

function lines(paragraphs: readonly string[]): string {
  return `${paragraphs.join("\n\n")}\n`;
}
