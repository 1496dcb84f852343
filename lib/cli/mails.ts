/** A look at the mails to fans, without sending one. */

import type { MailSettings, PoolMailKind } from "../fans/identity/providers/managed_pool/mails.ts";
import { id, oneOf } from "./frame/checks.ts";
import type { CliContext, CommandSpec } from "./frame/command.ts";
import { json } from "./frame/output.ts";

const poolMailKinds: readonly PoolMailKind[] = [
  "passwordCode",
  "emailCode",
  "loginCode",
  "alreadyRegistered",
  "passwordChanged",
  "emailChanged",
];
const sample = { code: "12345678", link: "https://club.example/enter#email=fan%40example.org&code=12345678" };

const previewCommand: CommandSpec = {
  words: ["mails", "preview"],
  summary: "Print a mail to fans as it would be sent, as text or as a page",
  args: [{ name: "kind", description: poolMailKinds.join(", "), check: oneOf(...poolMailKinds) }],
  flags: {
    language: {
      value: "language",
      description: "The language of the fan: en, de, fr, es or one of the project's; otherwise en",
      check: text => (/^[a-z]{2,3}$/.test(text) ? null : "must be a language, such as de"),
    },
    name: { value: "text", description: "Name of the project; otherwise Grandstand" },
    project: { value: "id", description: "The project with whose name and words to print it", check: id },
    html: { description: "Print the page instead of the text" },
  },
  examples: [
    "mails preview loginCode --language de",
    "mails preview loginCode --project $PROJECT",
    "mails preview loginCode --html > mail.html",
  ],
  output: json,
  async run({ args, flags }, context) {
    const kind = poolMailKinds.find(each => each === args[0]) ?? "loginCode";
    const { language: locale } = flags;
    const project = flags.project === undefined ? null : await readProject(flags.project, context);
    const name = flags.name ?? project?.name ?? "Grandstand";
    const facts = kind.endsWith("Code") ? { code: sample.code } : {};
    const link = kind === "loginCode" ? sample.link : undefined;
    const { writePoolMail } = await import("../fans/identity/providers/managed_pool/mails.ts");
    const mail = writePoolMail({ kind, name, own: project?.mails, locale, link, ...facts });
    return { data: mail, shown: flags.html === undefined ? `${mail.subject}\n\n${mail.text}` : mail.html };
  },
};

interface MailProject {
  readonly name: string;
  readonly mails: MailSettings | undefined;
}

async function readProject(id: string, context: CliContext): Promise<MailProject> {
  const api = await context.api();
  const { data } = await api.read({ kind: "project", id }, { "fields[projects]": "name,services" });
  const { name, services } = data.attributes as {
    readonly name: string;
    readonly services: { readonly identity?: { readonly mails?: MailSettings } };
  };
  return { name, mails: services.identity?.mails };
}

export const commands: readonly CommandSpec[] = [previewCommand];
