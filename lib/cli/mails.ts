/** A look at the mails to fans, without sending one. */

import type { MailLanguage, PoolMailKind } from "../fans/identity/providers/managed_pool/mails.ts";
import { oneOf } from "./frame/checks.ts";
import type { CommandSpec } from "./frame/command.ts";
import { json } from "./frame/output.ts";

const poolMailKinds: readonly PoolMailKind[] = [
  "passwordCode",
  "emailCode",
  "loginCode",
  "alreadyRegistered",
  "passwordChanged",
  "emailChanged",
];
const mailLanguages: readonly MailLanguage[] = ["en", "de", "fr", "es"];
const sample = { code: "12345678", link: "https://club.example/enter#email=fan%40example.org&code=12345678" };

const previewCommand: CommandSpec = {
  words: ["mails", "preview"],
  summary: "Print a mail to fans as it would be sent, as text or as a page",
  args: [{ name: "kind", description: poolMailKinds.join(", "), check: oneOf(...poolMailKinds) }],
  flags: {
    language: {
      value: mailLanguages.join("|"),
      description: "The language of the fan; otherwise en",
      check: oneOf(...mailLanguages),
    },
    name: { value: "text", description: "Name of the project; otherwise Grandstand" },
    html: { description: "Print the page instead of the text" },
  },
  examples: ["mails preview loginCode --language de", "mails preview loginCode --html > mail.html"],
  output: json,
  async run({ args, flags }) {
    const kind = poolMailKinds.find(each => each === args[0]) ?? "loginCode";
    const { language: locale, name = "Grandstand" } = flags;
    const facts = kind.endsWith("Code") ? { code: sample.code } : {};
    const link = kind === "loginCode" ? sample.link : undefined;
    const { writePoolMail } = await import("../fans/identity/providers/managed_pool/mails.ts");
    const mail = writePoolMail({ kind, name, locale, link, ...facts });
    return { data: mail, shown: flags.html === undefined ? `${mail.subject}\n\n${mail.text}` : mail.html };
  },
};

export const commands: readonly CommandSpec[] = [previewCommand];
