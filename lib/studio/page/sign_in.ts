/** Asks the user to sign in, in a dialog over the page, so that nothing of the page is lost. */

import { type Api, accepted, type Resource } from "./api.ts";
import { el, setText } from "./elements.ts";
import { messageOf } from "./problem.ts";

/** A question to the user. */
interface Step {
  readonly label: string;
  readonly hint: string;
  readonly button: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** Takes the answer, and returns the next step. @throws {RequestError} It is refused. */
  take(answer: string): Promise<Step | null>;
  /** The step that the user can choose in the place of this one. */
  readonly other: readonly [text: string, step: () => Step];
}

/** Shows the dialog. Resolves when the client has a token. */
export function askToSignIn(api: Api): Promise<void> {
  const form = el("form", { class: "stack" });
  const title = el("h1", { id: "sign-in" }, "Sign in to Grandstand");
  const stay = (event: Event): void => event.preventDefault();
  const dialog = el("dialog", { "aria-labelledby": title.id, on: { cancel: stay } }, title, form);
  document.body.append(dialog);
  dialog.showModal();
  return new Promise(resolve => {
    const show = (step: Step | null): void => {
      if (step === null) {
        dialog.remove();
        resolve();
      } else showStep(form, step, show);
    };
    show(mailStep(api));
  });
}

function mailStep(api: Api): Step {
  return {
    label: "E-mail address",
    hint: "You get a code by mail, which is valid for 10 minutes.",
    button: "Mail me a code",
    input: { type: "email", autocomplete: "email", maxlength: 254 },
    take: async email => codeStep(api, email, (await session(api, "", { email })).id),
    other: ["Use an access token", () => tokenStep(api)],
  };
}

function codeStep(api: Api, email: string, id: string): Step {
  return {
    label: "Code",
    hint: `A code is on its way to ${email}, if somebody with this address works here.`,
    button: "Sign in",
    input: { inputmode: "numeric", autocomplete: "one-time-code", maxlength: 20 },
    async take(code) {
      const { attributes } = await session(api, `/${id}/verify`, { code: code.replace(/\s/g, "") });
      api.token = String(attributes.token);
      return null;
    },
    other: ["Use another address", () => mailStep(api)],
  };
}

function tokenStep(api: Api): Step {
  return {
    label: "Access token",
    hint: "It is kept until you close this tab.",
    button: "Sign in",
    input: { type: "password", autocomplete: "off", maxlength: 1_000 },
    async take(token) {
      await accepted(
        await api.send("/api/v2/me", { headers: { authorization: `Bearer ${encodeURI(token)}` } }),
      );
      api.token = token;
      return null;
    },
    other: ["Mail me a code", () => mailStep(api)],
  };
}

async function session(
  api: Api,
  path: string,
  attributes: Readonly<Record<string, string>>,
): Promise<Resource> {
  const body = { data: { type: "sessions", attributes } };
  const response = await api.send(`/api/v2/sessions${path}`, { method: "POST", body });
  return ((await accepted(response)) as { readonly data: Resource }).data;
}

function showStep(form: HTMLFormElement, step: Step, show: (step: Step | null) => void): void {
  const [text, other] = step.other;
  const notes = { "aria-describedby": "sign-in-hint sign-in-fault" };
  const input = el("input", {
    ...step.input,
    ...notes,
    id: "sign-in-input",
    required: true,
    spellcheck: "false",
  });
  const fault = el("p", { class: "fault", id: "sign-in-fault", role: "alert" });
  const button = el("button", { class: "main" }, step.button);
  form.onsubmit = async event => {
    event.preventDefault();
    button.disabled = true;
    setText(fault, "");
    try {
      show(await step.take(input.value.trim()));
    } catch (error) {
      setText(fault, messageOf(error));
      button.disabled = false;
      input.select();
    }
  };
  form.replaceChildren(
    el("label", { for: input.id }, step.label),
    input,
    el("p", { class: "quiet", id: "sign-in-hint" }, step.hint),
    fault,
    button,
    el("button", { type: "button", class: "plain", on: { click: () => show(other()) } }, text),
  );
  input.focus();
}
