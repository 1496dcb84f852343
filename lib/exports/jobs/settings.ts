/**
 * The section `exports` of an organisation's settings.
 *
 * @module
 */

import * as v from "valibot";
import type { Organisation, Settings } from "../../directory/mod.ts";
import type { FieldError } from "../../errors/mod.ts";
import { issueDetail } from "../../http/mod.ts";
import type { ExportNotice } from "./job.ts";
import { isServiceUrl, serviceUrlCharactersMax, serviceUrlExpectation } from "./service_address.ts";

/** Longest address, in characters (RFC 5321, section 4.5.3.1.3). */
export const noticeCharactersMax = 254;

/** A service that is told of finished exports. */
export interface ExportWebhook {
  /** `https`; `http` only on the machine itself or at an address of a private network. */
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

const WebhookSettings = v.object({
  url: v.pipe(v.string(), v.maxLength(serviceUrlCharactersMax), v.check(isServiceUrl, serviceUrlExpectation)),
  includePassword: v.optional(v.boolean(), true),
});
const SettingsSchema = v.object({
  notify: v.exactOptional(NoticeSchema),
  webhook: v.exactOptional(WebhookSettings),
});

/**
 * The settings of an organisation. A part that is wrong counts as absent: nobody is told what nobody should know, and who is to be
 * told by the other part still is.
 */
export function exportSettings(organisation: Organisation | null): ExportSettings {
  const section = sectionOf(organisation?.settings);
  const notify = v.safeParse(NoticeSchema, section.notify);
  const webhook = v.safeParse(WebhookSettings, section.webhook);
  return {
    notify: notify.success ? notify.output : null,
    webhook: webhook.success ? webhook.output : null,
  };
}

/**
 * What is wrong with the section of an organisation's settings that is about exports; empty where nothing is.
 *
 * @param pointer JSON Pointer to the settings in their document.
 */
export function exportFaults(settings: Settings | undefined, pointer: string): readonly FieldError[] {
  const { issues = [] } = v.safeParse(SettingsSchema, settings?.exports ?? {});
  return issues.map(issue => ({
    pointer: [`${pointer}/exports`, ...(issue.path ?? []).map(({ key }) => String(key))].join("/"),
    detail: issueDetail(issue),
  }));
}

function sectionOf(settings: Settings | undefined): Readonly<Record<string, unknown>> {
  const section = settings?.exports;
  return typeof section === "object" && section !== null ? (section as Record<string, unknown>) : {};
}
