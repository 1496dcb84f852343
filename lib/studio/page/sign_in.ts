/**
 * Asks the user to sign in, in a dialog over the page, so that nothing of the page is lost.
 *
 * @module
 */

import { type Api, failureOf, RequestError, type Resource } from "./api.ts";
import { el, setText } from "./elements.ts";

interface Field {
  readonly label: string;
  readonly hint: string;
  readonly button: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** Takes what the user has written. @throws {RequestError} It is refused. */
  submit(value: string): Promise<void>;
}

/** Shows the dialog; resolves when the client has a token. */
export function askToSignIn(api: Api): Promise<void> {
  const body = el("div", { class: "stack" });
  const dialog = el(
    "dialog",
    { class: "sign-in", "aria-labelledby": "sign-in-title", on: { cancel: event => event.preventDefault() } },
    el("h1", { id: "sign-in-title" }, "Sign in to Grandstand"),
    body,
  );
  document.body.append(dialog);
  dialog.showModal();
  return new Promise(resolve => {
    const done = (token: string): void => {
      api.token = token;
      dialog.remove();
      resolve();
    };
    showForm(body, mailStep(api, body, done));
  });
}

type Done = (token: string) => void;

function mailStep(api: Api, body: HTMLElement, done: Done): readonly [Field, HTMLElement] {
  const field: Field = {
    label: "E-mail address",
    hint: "You get a code by mail, which is valid for 10 minutes.",
    button: "Mail me a code",
    attributes: { type: "email", autocomplete: "email", maxlength: 254 },
    async submit(email) {
      const { id } = await session(api, "/sessions", { email });
      showForm(body, codeStep(api, { body, done, id, email }));
    },
  };
  return [field, other("Use an access token", () => showForm(body, tokenStep(api, body, done)))];
}

function codeStep(
  api: Api,
  {
    body,
    done,
    id,
    email,
  }: { readonly body: HTMLElement; readonly done: Done; readonly id: string; readonly email: string },
): readonly [Field, HTMLElement] {
  const field: Field = {
    label: "Code",
    hint: `If ${email} is known, a code is on its way there.`,
    button: "Sign in",
    attributes: { inputmode: "numeric", autocomplete: "one-time-code", maxlength: 20 },
    async submit(code) {
      const { attributes } = await session(api, `/sessions/${id}/verify`, { code: code.replace(/\s/g, "") });
      done(String(attributes.token));
    },
  };
  return [field, other("Use another address", () => showForm(body, mailStep(api, body, done)))];
}

function tokenStep(api: Api, body: HTMLElement, done: Done): readonly [Field, HTMLElement] {
  const field: Field = {
    label: "Access token",
    hint: "It is kept until you close this tab.",
    button: "Sign in",
    attributes: { type: "password", autocomplete: "off", maxlength: 1_000 },
    async submit(value) {
      const headers = { authorization: `Bearer ${value}` };
      const response = await api.send("/api/v2/me", { headers });
      if (!response.ok) throw await failureOf(response);
      done(value);
    },
  };
  return [field, other("Mail me a code", () => showForm(body, mailStep(api, body, done)))];
}

function other(text: string, click: () => void): HTMLElement {
  return el("button", { type: "button", class: "plain", on: { click } }, text);
}

async function session(
  api: Api,
  path: string,
  attributes: Readonly<Record<string, string>>,
): Promise<Resource> {
  const response = await api.send(`/api/v2${path}`, {
    method: "POST",
    body: { data: { type: "sessions", attributes } },
  });
  if (!response.ok) throw await failureOf(response);
  return ((await response.json()) as { readonly data: Resource }).data;
}

function showForm(body: HTMLElement, [field, alternative]: readonly [Field, HTMLElement]): void {
  const input = el("input", {
    ...field.attributes,
    id: "sign-in-field",
    required: true,
    spellcheck: "false",
    "aria-describedby": "sign-in-hint sign-in-problem",
  });
  const problem = el("p", { class: "fault", id: "sign-in-problem", role: "alert" });
  const button = el("button", { class: "main" }, field.button);
  async function submit(event: Event): Promise<void> {
    event.preventDefault();
    const value = input.value.trim();
    if (value === "" || button.disabled) return;
    button.disabled = true;
    setText(problem, "");
    try {
      await field.submit(value);
    } catch (error) {
      setText(problem, error instanceof RequestError ? error.message : "The value cannot be used.");
      input.select();
    }
    button.disabled = false;
  }
  const form = el(
    "form",
    { class: "stack", on: { submit } },
    el("label", { for: input.id }, field.label),
    input,
    el("p", { class: "quiet", id: "sign-in-hint" }, field.hint),
    problem,
    el("div", { class: "row" }, button, alternative),
  );
  body.replaceChildren(form);
  input.focus();
}
