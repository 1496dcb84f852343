/**
 * The mails of the managed pool.
 *
 * @module
 */

import type { Mail } from "../../../../base/outbound/mailer.ts";
import { codeAgeMsMax } from "../../codes/rules.ts";
import type { OperationCall } from "../../operations.ts";

const codeMinutes = codeAgeMsMax / 60_000;
const acceptLanguageCharactersMax = 512;

/** The recipient of a mail, and the request that caused it. */
export interface MailParties {
  readonly to: string;
  readonly call: Pick<OperationCall, "project" | "request">;
}

/** Writes the mail with the code for a new password. */
export function passwordCodeMail(parties: MailParties, code: string): Mail {
  return mail(
    "passwordCode",
    parties,
    "Your code for a new password",
    [
      `Your code is ${code}. It is valid for ${codeMinutes} minutes and can be used once.`,
      "If you did not ask for it, ignore this message: your password stays as it is. Never tell the code to anybody.",
    ],
    { code },
  );
}

/** Writes the mail with the code that verifies the address. */
export function emailCodeMail(parties: MailParties, code: string): Mail {
  return mail(
    "emailCode",
    parties,
    "Your code to confirm your e-mail address",
    [
      `Your code is ${code}. It is valid for ${codeMinutes} minutes and can be used once.`,
      "If you did not ask for it, ignore this message. Never tell the code to anybody.",
    ],
    { code },
  );
}

/** Writes the mail to the holder of an address that somebody tried to register. */
export function alreadyRegisteredMail(parties: MailParties): Mail {
  return mail("alreadyRegistered", parties, "You already have an account", [
    "Somebody, probably you, tried to register with this address, which has an account already.",
    "Log in with your password, or ask for a new one if you forgot it. If it was not you, there is nothing to do.",
  ]);
}

/** Writes the mail after a change of the password. */
export function passwordChangedMail(parties: MailParties): Mail {
  return mail("passwordChanged", parties, "Your password was changed", [
    "The password of your account was changed, and all other devices were logged out.",
    "If it was not you, ask for a new password now.",
  ]);
}

/** Writes the mail to the former address of an account. */
export function emailChangedMail(parties: MailParties): Mail {
  return mail("emailChanged", parties, "Your e-mail address was changed", [
    "Your account has another e-mail address now, and this one leads to it no more.",
    "If it was not you, contact us at once.",
  ]);
}

function mail(
  kind: Mail["kind"],
  { to, call: { project, request } }: MailParties,
  subject: string,
  lines: readonly string[],
  more: Pick<Mail, "code"> = {},
): Mail {
  const { id, name } = project;
  const locale = preferredLanguage(request.headers.get("accept-language"));
  return {
    to,
    kind,
    subject: `${name}: ${subject}`,
    text: `${[...lines, name].join("\n\n")}\n`,
    project: { id, name },
    ...(locale === undefined ? {} : { locale }),
    ...more,
  };
}

/** Returns the language of the greatest weight in an `Accept-Language` header. */
function preferredLanguage(header: string | null): string | undefined {
  const ranges = (header ?? "").slice(0, acceptLanguageCharactersMax).split(",");
  const weighted = ranges.flatMap(range => {
    const [, tag, weight = "1"] =
      /^\s*([A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8}){0,4})\s*(?:;\s*q=([01](?:\.\d{0,3})?)\s*)?$/.exec(range) ?? [];
    return tag === undefined || Number(weight) === 0 ? [] : [{ tag, weight: Number(weight) }];
  });
  return weighted.toSorted((left, right) => right.weight - left.weight)[0]?.tag;
}
