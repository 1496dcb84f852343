/**
 * The section `exports` of an organisation's settings.
 *
 * @module
 */

import * as v from "valibot";
import type { Organisation } from "../directory/mod.ts";
import type { ExportNotice } from "./job.ts";

/** Longest address, in characters (RFC 5321, section 4.5.3.1.3). */
export const noticeCharactersMax = 254;

/** A service that is told of finished exports. */
export interface ExportWebhook {
  readonly url: string;
  /** Whether the message holds the password beside the link. */
  readonly includePassword: boolean;
}

/** What an organisation says about its exports. */
export interface ExportSettings {
  /** Who is told by mail of exports whose request names nobody. */
  readonly notify: ExportNotice | null;
  readonly webhook: ExportWebhook | null;
}

const address = v.pipe(
  v.string(),
  v.maxLength(noticeCharactersMax),
  v.regex(/^[^\s@<>()[\]\\,;:"]+@[^\s@<>()[\]\\,;:"]+$/u, "Expected one e-mail address"),
);

/** Checks who is told by mail. */
export const NoticeSchema: v.GenericSchema<ExportNotice> = v.strictObject({
  email: address,
  passwordEmail: v.exactOptional(v.nullable(address)),
});

const SettingsSchema = v.object({
  notify: v.exactOptional(NoticeSchema),
  webhook: v.exactOptional(
    v.object({
      url: v.pipe(v.string(), v.url(), v.regex(/^https?:\/\/[^@]+$/)),
      includePassword: v.optional(v.boolean(), true),
    }),
  ),
});

const none: ExportSettings = { notify: null, webhook: null };

/** The settings of an organisation. Those that are wrong count as absent: nobody is told what nobody should know. */
export function exportSettings(organisation: Organisation | null): ExportSettings {
  const section = organisation?.settings?.exports;
  if (section === undefined) return none;
  const read = v.safeParse(SettingsSchema, section);
  if (!read.success) return none;
  return { notify: read.output.notify ?? null, webhook: read.output.webhook ?? null };
}
