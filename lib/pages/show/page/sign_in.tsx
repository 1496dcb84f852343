/** The forms that give a fan a name, or an account that lasts. */

import { type Signal, useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { GrandstandError } from "../../../client/mod.ts";
import type { Show } from "./show.ts";
import { t } from "./texts.ts";

interface Account {
  readonly email: string;
  readonly password: string;
  readonly isNew: boolean;
}

export interface SignInProps {
  readonly show: Show;
  /** True for a fan who is to sign in to a known account. */
  readonly hasAccount?: boolean;
}

/** Lets a fan take a name, or an account that lasts. */
export function SignIn({ show, hasAccount = false }: SignInProps) {
  const fan = show.fan.value;
  const fault = useSignal("");
  const isBusy = useSignal(false);
  /** An account whose address has to be confirmed. */
  const unproved = useSignal<Account | null>(null);
  /** The address of an account whose password is forgotten. */
  const forgotten = useSignal<string | null>(null);
  const { session } = show.client;
  const run = async (work: () => Promise<unknown>): Promise<void> => {
    fault.value = "";
    isBusy.value = true;
    try {
      await work();
    } catch (error) {
      fault.value = t("failed", { reason: error instanceof GrandstandError ? error.message : String(error) });
    }
    isBusy.value = false;
  };
  const { enter, prove, forget, recover } = stepsOf(show, { unproved, forgotten });
  if (fan !== null && fan.provider !== "anonymous") return null;
  const isByMail = show.data.settings.signIn === "email";
  if (fan !== null && !isByMail) return null;
  const { value: account } = unproved;
  const { value: lost } = forgotten;
  return (
    <div class="card sign-in">
      {fan === null && account === null && lost === null && !hasAccount && (
        <NameForm
          isBusy={isBusy.value}
          onJoin={username => run(() => session.register({ provider: "noLogin", username }))}
        />
      )}
      {account !== null ? (
        <CodeForm
          email={account.email}
          isBusy={isBusy.value}
          onSubmit={code => run(() => prove(account, code))}
        />
      ) : lost !== null ? (
        <CodeForm
          email={lost}
          isBusy={isBusy.value}
          asksPassword
          onSubmit={(code, password) => run(() => recover(lost, code, password))}
        />
      ) : (
        isByMail && (
          <MailForm
            hasAccount={hasAccount}
            isBusy={isBusy.value}
            onSubmit={given => run(() => enter(given))}
            onForget={email => run(() => forget(email))}
          />
        )
      )}
      <p class="fault" role="alert">
        {fault}
      </p>
    </div>
  );
}

interface Pending {
  readonly unproved: Signal<Account | null>;
  readonly forgotten: Signal<string | null>;
}

/** The steps to an account, and what waits for a mailed code between them. */
function stepsOf({ client, data }: Show, { unproved, forgotten }: Pending) {
  const { session, identity } = client;
  const pool = { projectId: data.project.id, strategy: "email", provider: "managedPool" } as const;
  const token = data.clientToken?.token;
  const proof = { headers: token === undefined ? {} : { authorization: `Bearer ${token}` } };
  async function enter(account: Account): Promise<void> {
    const { email, password, isNew } = account;
    const nickname = email.split("@", 1)[0] ?? "";
    if (isNew) await session.register({ provider: "managedPool", email, password, nickname });
    try {
      await session.logIn({ provider: "managedPool", email, password });
    } catch (error) {
      if (!(error instanceof GrandstandError) || error.code !== "email_not_verified") throw error;
      await identity.verifyEmail({ body: { ...pool, data: { email } } }, proof);
      unproved.value = { ...account, isNew: false };
    }
  }
  async function prove(account: Account, confirmationCode: string): Promise<void> {
    const { email, password } = account;
    await identity.confirmEmail({ body: { ...pool, data: { email, confirmationCode, password } } }, proof);
    unproved.value = null;
    await enter(account);
  }
  async function forget(email: string): Promise<void> {
    await identity.forgotPassword({ body: { ...pool, data: { email } } }, proof);
    forgotten.value = email;
  }
  async function recover(email: string, confirmationCode: string, password: string): Promise<void> {
    await identity.confirmPassword({ body: { ...pool, data: { email, confirmationCode, password } } }, proof);
    forgotten.value = null;
    await enter({ email, password, isNew: false });
  }
  return { enter, prove, forget, recover };
}

interface CodeProps {
  readonly email: string;
  readonly isBusy: boolean;
  /** True where a new password is chosen too. */
  readonly asksPassword?: boolean;
  readonly onSubmit: (code: string, password: string) => void;
}

function CodeForm({ email, isBusy, asksPassword = false, onSubmit }: CodeProps) {
  const code = useRef<HTMLInputElement>(null);
  const password = useRef<HTMLInputElement>(null);
  return (
    <form
      onSubmit={event => {
        event.preventDefault();
        onSubmit(code.current?.value.trim() ?? "", password.current?.value ?? "");
      }}
    >
      <label>
        {t("code", { email })}
        <input ref={code} required inputMode="numeric" autocomplete="one-time-code" maxLength={12} />
      </label>
      {asksPassword && (
        <label>
          {t("newPassword")}
          <input ref={password} type="password" required autocomplete="new-password" />
        </label>
      )}
      <button type="submit" class="main" disabled={isBusy}>
        {t("confirm")}
      </button>
    </form>
  );
}

function NameForm({ isBusy, onJoin }: { readonly isBusy: boolean; readonly onJoin: (name: string) => void }) {
  const name = useRef<HTMLInputElement>(null);
  return (
    <form
      onSubmit={event => {
        event.preventDefault();
        onJoin(name.current?.value.trim() ?? "");
      }}
    >
      <label>
        {t("yourName")}
        <input ref={name} name="name" required maxLength={40} autocomplete="nickname" />
      </label>
      <button type="submit" class="main" disabled={isBusy}>
        {t("join")}
      </button>
    </form>
  );
}

interface MailProps {
  readonly hasAccount: boolean;
  readonly isBusy: boolean;
  readonly onSubmit: (given: Account) => void;
  readonly onForget: (email: string) => void;
}

function MailForm({ isBusy, hasAccount, onSubmit, onForget }: MailProps) {
  const email = useRef<HTMLInputElement>(null);
  const password = useRef<HTMLInputElement>(null);
  return (
    <details open={hasAccount}>
      <summary>{t(hasAccount ? "signIn" : "keepPoints")}</summary>
      <form
        onSubmit={event => {
          event.preventDefault();
          const { submitter } = event as SubmitEvent;
          onSubmit({
            email: email.current?.value.trim() ?? "",
            password: password.current?.value ?? "",
            isNew: submitter?.getAttribute("value") === "new",
          });
        }}
      >
        {!hasAccount && <p class="quiet">{t("keepNote")}</p>}
        <label>
          {t("email")}
          <input ref={email} type="email" required autocomplete="email" />
        </label>
        <label>
          {t("password")}
          <input ref={password} type="password" required autocomplete="current-password" />
        </label>
        <div class="row">
          {!hasAccount && (
            <button type="submit" value="new" class="main" disabled={isBusy}>
              {t("create")}
            </button>
          )}
          <button type="submit" value="known" disabled={isBusy} {...(hasAccount && { class: "main" })}>
            {t("signIn")}
          </button>
          <button
            type="button"
            class="plain"
            disabled={isBusy}
            onClick={() => {
              const { current } = email;
              if (current?.reportValidity() === true) onForget(current.value.trim());
            }}
          >
            {t("forgot")}
          </button>
        </div>
      </form>
    </details>
  );
}
