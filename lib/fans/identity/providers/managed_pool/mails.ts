/** The mails to fans, as text and as HTML, in the languages that they come in, and the words that a project has for them. */

import * as v from "valibot";
import { escapeHtml } from "../../../../base/text/mod.ts";
import { isPublicName } from "../../../users/mod.ts";
import { codeAgeMsMax } from "../../codes/codes.ts";

export const mailLanguages = ["en", "de", "fr", "es"] as const;
type MailLanguage = (typeof mailLanguages)[number];

export const poolMailKinds = [
  "passwordCode",
  "emailCode",
  "loginCode",
  "alreadyRegistered",
  "passwordChanged",
  "emailChanged",
] as const;
export type PoolMailKind = (typeof poolMailKinds)[number];

type Texts = Readonly<Record<PoolMailKind, readonly [subject: string, ...lines: string[]]>> & {
  readonly code: string;
  readonly life: string;
  readonly link: string;
};

const codeMinutes = codeAgeMsMax / 60_000;

const texts: Readonly<Record<MailLanguage, Texts>> = {
  en: {
    code: "Your code is",
    life: `It is valid for ${codeMinutes} minutes and can be used once.`,
    link: "Open the page and confirm",
    passwordCode: [
      "Your code for a new password",
      "If you did not ask for it, ignore this message: your password stays as it is. Never tell the code to anybody.",
    ],
    emailCode: [
      "Your code to confirm your e-mail address",
      "If you did not ask for it, ignore this message. Never tell the code to anybody.",
    ],
    loginCode: [
      "Your code to log in",
      "If you did not ask for it, ignore this message. Never tell the code to anybody.",
    ],
    alreadyRegistered: [
      "You already have an account",
      "Somebody, probably you, tried to register with this address, which has an account already.",
      "Log in with your password, or ask for a new one if you forgot it. If it was not you, there is nothing to do.",
    ],
    passwordChanged: [
      "Your password was changed",
      "The password of your account was changed, and all other devices were logged out.",
      "If it was not you, ask for a new password now.",
    ],
    emailChanged: [
      "Your e-mail address was changed",
      "Your account has another e-mail address now, and this one leads to it no more.",
      "If it was not you, contact us at once.",
    ],
  },
  de: {
    code: "Dein Code ist",
    life: `Er gilt ${codeMinutes} Minuten und nur einmal.`,
    link: "Seite öffnen und bestätigen",
    passwordCode: [
      "Dein Code für ein neues Passwort",
      "Wenn du ihn nicht angefordert hast, ignoriere diese Nachricht: Dein Passwort bleibt, wie es ist. Gib den Code niemandem weiter.",
    ],
    emailCode: [
      "Dein Code zur Bestätigung deiner E-Mail-Adresse",
      "Wenn du ihn nicht angefordert hast, ignoriere diese Nachricht. Gib den Code niemandem weiter.",
    ],
    loginCode: [
      "Dein Code zum Anmelden",
      "Wenn du ihn nicht angefordert hast, ignoriere diese Nachricht. Gib den Code niemandem weiter.",
    ],
    alreadyRegistered: [
      "Du hast schon ein Konto",
      "Jemand, vermutlich du, wollte sich mit dieser Adresse registrieren. Sie hat schon ein Konto.",
      "Melde dich mit deinem Passwort an, oder fordere ein neues an. Wenn du es nicht warst, musst du nichts tun.",
    ],
    passwordChanged: [
      "Dein Passwort wurde geändert",
      "Das Passwort deines Kontos wurde geändert, und alle anderen Geräte wurden abgemeldet.",
      "Wenn du es nicht warst, fordere jetzt ein neues Passwort an.",
    ],
    emailChanged: [
      "Deine E-Mail-Adresse wurde geändert",
      "Dein Konto hat jetzt eine andere E-Mail-Adresse. Diese führt nicht mehr zu ihm.",
      "Wenn du es nicht warst, melde dich sofort bei uns.",
    ],
  },
  fr: {
    code: "Votre code est",
    life: `Il est valable ${codeMinutes} minutes et ne sert qu’une fois.`,
    link: "Ouvrir la page et confirmer",
    passwordCode: [
      "Votre code pour un nouveau mot de passe",
      "Si vous ne l’avez pas demandé, ignorez ce message : votre mot de passe ne change pas. Ne donnez ce code à personne.",
    ],
    emailCode: [
      "Votre code pour confirmer votre adresse e-mail",
      "Si vous ne l’avez pas demandé, ignorez ce message. Ne donnez ce code à personne.",
    ],
    loginCode: [
      "Votre code de connexion",
      "Si vous ne l’avez pas demandé, ignorez ce message. Ne donnez ce code à personne.",
    ],
    alreadyRegistered: [
      "Vous avez déjà un compte",
      "Quelqu’un, sans doute vous, a voulu s’inscrire avec cette adresse, qui a déjà un compte.",
      "Connectez-vous avec votre mot de passe, ou demandez-en un nouveau. Si ce n’était pas vous, vous n’avez rien à faire.",
    ],
    passwordChanged: [
      "Votre mot de passe a été modifié",
      "Le mot de passe de votre compte a été modifié, et tous les autres appareils ont été déconnectés.",
      "Si ce n’était pas vous, demandez un nouveau mot de passe maintenant.",
    ],
    emailChanged: [
      "Votre adresse e-mail a été modifiée",
      "Votre compte a maintenant une autre adresse e-mail. Celle-ci n’y mène plus.",
      "Si ce n’était pas vous, contactez-nous immédiatement.",
    ],
  },
  es: {
    code: "Tu código es",
    life: `Vale ${codeMinutes} minutos y solo se puede usar una vez.`,
    link: "Abrir la página y confirmar",
    passwordCode: [
      "Tu código para una contraseña nueva",
      "Si no lo has pedido, ignora este mensaje: tu contraseña no cambia. No des el código a nadie.",
    ],
    emailCode: [
      "Tu código para confirmar tu correo electrónico",
      "Si no lo has pedido, ignora este mensaje. No des el código a nadie.",
    ],
    loginCode: [
      "Tu código para iniciar sesión",
      "Si no lo has pedido, ignora este mensaje. No des el código a nadie.",
    ],
    alreadyRegistered: [
      "Ya tienes una cuenta",
      "Alguien, probablemente tú, ha intentado registrarse con esta dirección, que ya tiene una cuenta.",
      "Inicia sesión con tu contraseña, o pide una nueva. Si no has sido tú, no tienes que hacer nada.",
    ],
    passwordChanged: [
      "Se ha cambiado tu contraseña",
      "Se ha cambiado la contraseña de tu cuenta, y se ha cerrado la sesión en los demás dispositivos.",
      "Si no has sido tú, pide ahora una contraseña nueva.",
    ],
    emailChanged: [
      "Se ha cambiado tu correo electrónico",
      "Tu cuenta tiene ahora otro correo electrónico. Este ya no lleva a ella.",
      "Si no has sido tú, ponte en contacto con nosotros de inmediato.",
    ],
  },
};

const senderCharactersMax = 100;
const subjectCharactersMax = 200;
const lineCharactersMax = 1_000;
const linesMax = 20;
const languagesMax = 40;

const shownText = (charactersMax: number) =>
  v.pipe(
    v.string(),
    v.maxLength(charactersMax),
    v.check(isPublicName, "Expected visible text without control characters"),
  );

const OwnMailSchema = v.strictObject({
  subject: shownText(subjectCharactersMax),
  lines: v.pipe(v.array(shownText(lineCharactersMax)), v.maxLength(linesMax)),
});
const wordNames = ["code", "life", "link"] as const;

const isOurs = (language: string): boolean => mailLanguages.some(one => one === language);

/** The words that a project has for its mails. Whatever it leaves out is as in the mails of all projects. */
export const MailSettingsSchema = v.strictObject({
  sender: v.exactOptional(shownText(senderCharactersMax)),
  texts: v.exactOptional(
    v.pipe(
      v.record(
        v.pipe(v.string(), v.regex(/^[a-z]{2,3}$/, "Expected a language, such as de")),
        v.strictObject({
          ...v.entriesFromList(wordNames, v.exactOptional(shownText(subjectCharactersMax))),
          ...v.entriesFromList(poolMailKinds, v.exactOptional(OwnMailSchema)),
        }),
      ),
      v.check(all => Object.keys(all).length <= languagesMax, `Expected at most ${languagesMax} languages`),
      v.check(
        all =>
          Object.entries(all).every(
            ([language, own]) => isOurs(language) || wordNames.every(word => own[word] !== undefined),
          ),
        `Expected code, life and link in languages other than ${mailLanguages.join(", ")}`,
      ),
    ),
  ),
});

export type MailSettings = v.InferOutput<typeof MailSettingsSchema>;

interface MailFacts {
  readonly kind: PoolMailKind;
  /** Name of the project. */
  readonly name: string;
  /** The words of the project. */
  readonly own?: MailSettings | undefined;
  /** A BCP 47 tag; English where neither the project nor we have mails in its language. */
  readonly locale?: string | undefined;
  readonly code?: string | undefined;
  readonly link?: string | undefined;
}

interface MailWords extends Pick<Texts, (typeof wordNames)[number]> {
  readonly language: string;
  /** Undefined where the words are ours. */
  readonly ownSubject: string | undefined;
  readonly subject: string;
  readonly lines: readonly string[];
}

function wordsOf({ kind, own: { texts: all = {} } = {}, locale = "" }: MailFacts): MailWords {
  const [primary = ""] = locale.toLowerCase().split("-");
  const wordsIn = (language: string) => (Object.hasOwn(all, language) ? all[language] : undefined);
  const language = isOurs(primary) || wordsIn(primary)?.[kind] !== undefined ? primary : "en";
  const ours = texts[mailLanguages.find(one => one === language) ?? "en"];
  const [subject, ...lines] = ours[kind];
  const { code = ours.code, life = ours.life, link = ours.link, [kind]: mail } = wordsIn(language) ?? {};
  return { code, life, link, language, ownSubject: mail?.subject, ...(mail ?? { subject, lines }) };
}

/** Writes a mail as text and as HTML, in the language of the locale. */
export function writePoolMail(facts: MailFacts) {
  const { name: projectName, own, code, link } = facts;
  const { language, ownSubject, subject, lines, ...words } = wordsOf(facts);
  const name = own?.sender ?? projectName;
  const shown = code === undefined ? [] : [`${words.code} ${code}. ${words.life}`];
  const linked = link === undefined ? [] : [`${words.link}\n${link}`];
  return {
    subject: ownSubject ?? `${name}: ${subject}`,
    text: `${[...shown, ...linked, ...lines, name].join("\n\n")}\n`,
    html: page(language, [
      `<h1>${escapeHtml(subject)}</h1>`,
      ...(code === undefined
        ? []
        : [
            `<p>${escapeHtml(words.code)}</p><p class="code">${escapeHtml(code)}</p><p>${escapeHtml(words.life)}</p>`,
          ]),
      ...(link === undefined
        ? []
        : [`<p><a class="button" href="${escapeHtml(link)}">${escapeHtml(words.link)}</a></p>`]),
      ...lines.map(line => `<p>${escapeHtml(line)}</p>`),
      `<p class="from">${escapeHtml(name)}</p>`,
    ]),
  };
}

const style = `:root{color-scheme:light dark}
body{margin:0;padding:24px 16px;background:#f3f4f6;color:#16181d;font:16px/1.5 system-ui,-apple-system,"Segoe UI",Arial,sans-serif}
main{max-width:480px;margin:0 auto;padding:24px;border-radius:12px;background:#fff;overflow-wrap:anywhere}
h1{margin:0 0 16px;font-size:20px;line-height:1.3}p{margin:0 0 16px}
.code{font:600 28px/1.2 ui-monospace,Menlo,Consolas,monospace;letter-spacing:2px}
.button{display:inline-block;padding:12px 20px;border-radius:8px;background:#1d4ed8;color:#fff;text-decoration:none;font-weight:600}
.from{margin:0;color:#5b6270;font-size:14px}
@media (prefers-color-scheme:dark){body{background:#0f1115;color:#eceef2}main{background:#1b1e25}.from{color:#a3abba}}`;

function page(language: string, parts: readonly string[]): string {
  return `<!doctype html>
<html lang="${language}">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">
<style>${style}</style></head>
<body><main>
${parts.join("\n")}
</main></body>
</html>
`;
}
