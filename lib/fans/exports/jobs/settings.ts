/** The section `exports` of an organisation's settings. */

import * as v from "valibot";
import type { FieldError } from "../../../base/errors/mod.ts";
import { fieldErrors } from "../../../http/requests/validate.ts";
import type { Organisation, Settings } from "../../directory/mod.ts";

/** Longest mail address, in characters (RFC 5321, section 4.5.3.1.3). */
const addressCharactersMax = 254;
const serviceUrlCharactersMax = 2_048;

const address = v.pipe(
  v.string(),
  v.maxLength(addressCharactersMax),
  v.regex(/^[^\s@<>()[\]\\,;:"]+@[^\s@<>()[\]\\,;:"]+$/u, "Expected one e-mail address"),
);

/** Checks the recipients of the mails about an export. */
export const RecipientsSchema = v.strictObject({
  email: v.pipe(address, v.description("Receives a mail with the link, or with the reason of a failure")),
  passwordEmail: v.exactOptional(
    v.pipe(
      v.nullable(address),
      v.description(
        "Receives the password in a mail of its own. null: no mail contains it. Omitted: the mail with the link does",
      ),
    ),
  ),
});

export type ExportRecipients = v.InferOutput<typeof RecipientsSchema>;

const ServiceSchema = v.object({
  url: v.pipe(
    v.string(),
    v.maxLength(serviceUrlCharactersMax),
    v.check(
      isServiceUrl,
      "Expected an https address without credentials; http only on the machine itself, or at an IP address of a private network",
    ),
  ),
  /** True if events contain the password too. */
  includePassword: v.optional(v.boolean(), true),
});

const SettingsSchema = v.object({
  notify: v.exactOptional(RecipientsSchema),
  webhook: v.exactOptional(ServiceSchema),
});

export interface ExportSettings {
  /** Recipients of exports whose request names none. */
  readonly notify: ExportRecipients | null;
  /** The service that receives events with the link. */
  readonly webhook: v.InferOutput<typeof ServiceSchema> | null;
}

/** Reads the settings of an organisation. An invalid part counts as absent; the other part still applies. */
export function exportSettings(organisation: Organisation | null): ExportSettings {
  const section = Object(organisation?.settings?.exports) as Readonly<Record<string, unknown>>;
  const notify = v.safeParse(RecipientsSchema, section.notify);
  const webhook = v.safeParse(ServiceSchema, section.webhook);
  return {
    notify: notify.success ? notify.output : null,
    webhook: webhook.success ? webhook.output : null,
  };
}

/**
 * Lists the faults in the section `exports` of settings.
 *
 * @param pointer JSON Pointer to the settings in their document.
 */
export function exportFaults(settings: Settings | undefined, pointer: string): readonly FieldError[] {
  return fieldErrors(v.safeParse(SettingsSchema, settings?.exports ?? {}).issues, `${pointer}/exports`);
}

/** Hosts of this machine and of private networks, as URLs write them (RFC 1918, 4193 and 6598). */
const privateHosts: readonly RegExp[] = [
  /^localhost$/,
  /^(127|10)(\.\d+){3}$/,
  /^192\.168(\.\d+){2}$/,
  /^172\.(1[6-9]|2\d|3[01])(\.\d+){2}$/,
  /^100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])(\.\d+){2}$/,
  /^\[::1\]$/,
  /^\[f[cd][0-9a-f]{2}:/,
];

/**
 * Returns true if events with a link to personal data may be posted to this address. A name does not reveal its network, so
 * http needs an IP address; the sender checks that the operator allows the network.
 */
function isServiceUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  if (username !== "" || password !== "") return false;
  return protocol === "https:" || (protocol === "http:" && privateHosts.some(host => host.test(hostname)));
}
