/** Asks the user to sign in, in a dialog over the page, so that nothing of the page is lost. */

import type { Api } from "./api.ts";
import { el, setText } from "./elements.ts";
import { messageOf } from "./problem.ts";

interface Step {
  readonly label: string;
  readonly hint: string;
  readonly button: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** Takes the answer, and returns the next step, or null at the end. @throws {GrandstandError} It is refused. */
  take(answer: string): Promise<Step | null>;
  readonly other: readonly [text: string, step: (api: Api) => Step];
}

const mailStep = (api: Api): Step => ({
  label: "E-mail address",
  hint: "You get a code by mail, which is valid for 10 minutes.",
  button: "Mail me a code",
  input: { type: "email", autocomplete: "email", maxlength: 254 },
  take: async email => codeStep(api, email, (await startSession(api, email)).id),
  other: ["Use an access token", tokenStep],
});

const codeStep = (api: Api, email: string, id: string): Step => ({
  label: "Code",
  hint: `A code is on its way to ${email}, if somebody with this address works here.`,
  button: "Sign in",
  input: { inputmode: "numeric", autocomplete: "one-time-code", maxlength: 20 },
  async take(code) {
    const data = { type: "sessions", attributes: { code: code.replace(/\s/g, "") } } as const;
    const { attributes } = await api.control.verifySession({ sessionId: id, body: { data } });
    api.token = attributes.token ?? "";
    return null;
  },
  other: ["Use another address", mailStep],
});

const tokenStep = (api: Api): Step => ({
  label: "Access token",
  hint: "It is kept until you close this tab.",
  button: "Sign in",
  input: { type: "password", autocomplete: "off", maxlength: 1_000 },
  async take(token) {
    await api.control.readMe({}, { headers: { authorization: `Bearer ${encodeURI(token)}` } });
    api.token = token;
    return null;
  },
  other: ["Mail me a code", mailStep],
});

async function startSession({ control }: Api, email: string): Promise<{ readonly id: string }> {
  return await control.createSession({ body: { data: { type: "sessions", attributes: { email } } } });
}

/** Shows the dialog. Resolves when the client has a token. */
export function askToSignIn(api: Api): Promise<void> {
  const form = el("form", { class: "stack" });
  const stay = (event: Event): void => event.preventDefault();
  const title = el("h1", { id: "sign-in" }, "Sign in to Grandstand");
  const dialog = el("dialog", { "aria-labelledby": title.id, on: { cancel: stay } }, title, form);
  document.body.append(dialog);
  dialog.showModal();
  return new Promise(resolve => {
    function show(step: Step | null): void {
      if (step !== null) {
        showStep(step);
        return;
      }
      // Closing gives the focus back to where it was.
      dialog.close();
      dialog.remove();
      resolve();
    }
    function showStep({ label, hint, button: text, input: attributes, take, other }: Step): void {
      const fixed = {
        id: "sign-in-input",
        required: true,
        spellcheck: "false",
        "aria-describedby": "sign-in-notes",
      };
      const input = el("input", { ...attributes, ...fixed });
      const fault = el("p", { class: "fault", role: "alert" });
      const button = el("button", { class: "main" }, text);
      const choose = el(
        "button",
        { type: "button", class: "plain", on: { click: () => show(other[1](api)) } },
        other[0],
      );
      const notes = el("div", { id: "sign-in-notes" }, el("p", { class: "quiet" }, hint), fault);
      form.onsubmit = async event => {
        event.preventDefault();
        button.disabled = true;
        setText(fault, "");
        try {
          show(await take(input.value.trim()));
        } catch (error) {
          setText(fault, messageOf(error));
          button.disabled = false;
          input.select();
        }
      };
      form.replaceChildren(el("label", { for: input.id }, label), input, notes, button, choose);
      input.focus();
    }
    show(mailStep(api));
  });
}
