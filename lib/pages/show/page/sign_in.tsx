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
  const pending = useSignal<Pending | null>(null);
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
  const { enter, forget, mailCode, enterByCode } = stepsOf(show, pending);
  if (fan !== null && fan.provider !== "anonymous") return null;
  const isByMail = show.data.settings.signIn === "email";
  if (fan !== null && !isByMail) return null;
  const mailed = show.data.codeLogin ? show.mailed.value : null;
  const asked = pending.value ?? (mailed && { ...mailed, submit: enterByCode });
  return (
    <div class="card sign-in">
      {fan === null && asked === null && !hasAccount && (
        <NameForm
          isBusy={isBusy.value}
          onJoin={username => run(() => session.register({ provider: "noLogin", username }))}
        />
      )}
      {asked !== null ? (
        <CodeForm
          {...asked}
          isBusy={isBusy.value}
          onSubmit={(code, password) => run(() => asked.submit(asked.email, code, password))}
          onCancel={() => {
            fault.value = "";
            pending.value = null;
            show.mailed.value = null;
          }}
        />
      ) : (
        isByMail && (
          <MailForm
            hasAccount={hasAccount}
            isBusy={isBusy.value}
            onSubmit={given => run(() => enter(given))}
            onForget={email => run(() => forget(email))}
            {...(show.data.codeLogin && { onMailCode: email => run(() => mailCode(email)) })}
          />
        )
      )}
      <p class="fault" role="alert">
        {fault}
      </p>
    </div>
  );
}

/** What waits for a mailed code. */
interface Pending {
  readonly email: string;
  /** The code, where a link has brought it. */
  readonly code?: string;
  /** True where a new password is chosen too. */
  readonly asksPassword?: boolean;
  readonly submit: (email: string, code: string, password: string) => Promise<void>;
}

/** The steps to an account. */
function stepsOf({ client, data, mailed }: Show, pending: Signal<Pending | null>) {
  const { session, identity } = client;
  const pool = { projectId: data.project.id, strategy: "email", provider: "managedPool" } as const;
  const token = data.clientToken?.token;
  const proof = { headers: token === undefined ? {} : { authorization: `Bearer ${token}` } };
  async function enter(account: Account): Promise<void> {
    const { email, password, isNew } = account;
    if (isNew)
      await session.register({ provider: "managedPool", email, password, nickname: nicknameOf(email) });
    try {
      await session.logIn({ provider: "managedPool", email, password });
    } catch (error) {
      if (!(error instanceof GrandstandError) || error.code !== "email_not_verified") throw error;
      await identity.verifyEmail({ body: { ...pool, data: { email } } }, proof);
      pending.value = { email, submit: (_, code) => prove(account, code) };
    }
  }
  async function prove(account: Account, confirmationCode: string): Promise<void> {
    const { email, password } = account;
    await identity.confirmEmail({ body: { ...pool, data: { email, confirmationCode, password } } }, proof);
    pending.value = null;
    await enter({ ...account, isNew: false });
  }
  async function forget(email: string): Promise<void> {
    await identity.forgotPassword({ body: { ...pool, data: { email } } }, proof);
    pending.value = { email, asksPassword: true, submit: recover };
  }
  async function recover(email: string, confirmationCode: string, password: string): Promise<void> {
    await identity.confirmPassword({ body: { ...pool, data: { email, confirmationCode, password } } }, proof);
    pending.value = null;
    await enter({ email, password, isNew: false });
  }
  async function mailCode(email: string): Promise<void> {
    await identity.mailLoginCode({ body: { ...pool, data: { email } } }, proof);
    mailed.value = { email, code: "" };
  }
  async function enterByCode(email: string, confirmationCode: string): Promise<void> {
    const fan = await session.user();
    const given = {
      email,
      confirmationCode,
      nickname: nicknameOf(email),
      deviceId: await session.deviceId(),
      ...(fan?.provider === "anonymous" && { externalId: fan.externalId }),
    };
    await session.adopt(
      pool.provider,
      await identity.confirmLogin({ body: { ...pool, data: given } }, proof),
    );
    mailed.value = null;
  }
  return { enter, forget, mailCode, enterByCode };
}

function nicknameOf(email: string): string {
  return email.split("@", 1)[0] ?? "";
}

interface CodeProps extends Pick<Pending, "email" | "code" | "asksPassword"> {
  readonly isBusy: boolean;
  readonly onSubmit: (code: string, password: string) => void;
  readonly onCancel: () => void;
}

function CodeForm({ email, code: known = "", isBusy, asksPassword = false, onSubmit, onCancel }: CodeProps) {
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
        <input
          ref={code}
          required
          inputMode="numeric"
          autocomplete="one-time-code"
          maxLength={12}
          defaultValue={known}
        />
      </label>
      {asksPassword && (
        <label>
          {t("newPassword")}
          <input ref={password} type="password" required autocomplete="new-password" />
        </label>
      )}
      <div class="row">
        <button type="submit" class="main" disabled={isBusy}>
          {t("confirm")}
        </button>
        <button type="button" onClick={onCancel}>
          {t("cancel")}
        </button>
      </div>
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
  /** Unset where no code signs anybody in. */
  readonly onMailCode?: (email: string) => void;
}

function MailForm({ isBusy, hasAccount, onSubmit, onForget, onMailCode }: MailProps) {
  const email = useRef<HTMLInputElement>(null);
  const password = useRef<HTMLInputElement>(null);
  function withAddress(use: (email: string) => void): void {
    const { current } = email;
    if (current?.reportValidity() === true) use(current.value.trim());
  }
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
          {onMailCode !== undefined && (
            <button type="button" disabled={isBusy} onClick={() => withAddress(onMailCode)}>
              {t("mailCode")}
            </button>
          )}
          <button type="button" class="plain" disabled={isBusy} onClick={() => withAddress(onForget)}>
            {t("forgot")}
          </button>
        </div>
      </form>
    </details>
  );
}
