/**
 * What the managed pool writes to its users.
 *
 * @module
 */

import type { Mail } from "../../../outbound/mailer.ts";

/** To whom, and in whose name. */
export interface Letter {
  readonly to: string;
  /** The name of the project. */
  readonly from: string;
}

/** The code for a new password. */
export function passwordCodeMail(letter: Letter, code: string, minutes: number): Mail {
  return mail("passwordCode", letter, "Your code for a new password", [
    `Your code is ${code}. It is valid for ${minutes} minutes and can be used once.`,
    "If you did not ask for it, ignore this message: your password stays as it is. Never tell the code to anybody.",
  ]);
}

/** Told where somebody registers an address that has an account. */
export function alreadyRegisteredMail(letter: Letter): Mail {
  return mail("alreadyRegistered", letter, "You already have an account", [
    "Somebody, probably you, tried to register with this address, which has an account already.",
    "Log in with your password, or ask for a new one if you forgot it. If it was not you, there is nothing to do.",
  ]);
}

/** Told after the password changed. */
export function passwordChangedMail(letter: Letter): Mail {
  return mail("passwordChanged", letter, "Your password was changed", [
    "The password of your account was changed, and all other devices were logged out.",
    "If it was not you, ask for a new password now.",
  ]);
}

/** Told at the address that an account had until now. */
export function emailChangedMail(letter: Letter): Mail {
  return mail("emailChanged", letter, "Your e-mail address was changed", [
    "Your account has another e-mail address now, and this one leads to it no more.",
    "If it was not you, contact us at once.",
  ]);
}

function mail(kind: Mail["kind"], { to, from }: Letter, subject: string, lines: readonly string[]): Mail {
  return { to, kind, subject: `${from}: ${subject}`, text: `${[...lines, from].join("\n\n")}\n` };
}
