/** One fan: account, balances, ledger and sessions, and what an admin may do with them. */

import { useState } from "preact/hooks";
import { GrandstandError } from "../../../../client/mod.ts";
import { saveFile } from "../../../shared/page/files.ts";
import { Shown, useAnswer } from "../answers.tsx";
import { messageOf } from "../problem.ts";
import { Act, ask } from "../ui.tsx";
import type { ViewContext } from "../view.ts";
import { BanForm, GrantForm } from "./forms.tsx";
import { Ledger } from "./ledger.tsx";
import { fanName, originOf, type Tenants } from "./tenants.ts";

const numbers = new Intl.NumberFormat();

interface PersonProps {
  readonly context: ViewContext;
  readonly tenants: Tenants;
  readonly userId: string;
  readonly onLeave: () => void;
}

/** Reads everything about a person. Who did not sign up in the project has neither account nor sessions there. */
function callsAbout(
  { api, signal }: ViewContext,
  { organisationId, spaceId, projectId }: Tenants,
  userId: string,
) {
  const named = { projectId, userId };
  const own = { space_id: spaceId, user_id: userId } as const;
  const options = { signal, headers: { "x-platform-org-id": organisationId } };
  const orNull = <T,>(call: Promise<T>): Promise<T | null> =>
    call.catch((error: unknown) => {
      if (isMissing(error)) return null;
      throw error;
    });
  const { audience, identity } = api;
  return {
    account: () => orNull(identity.getProjectUser(named, options)),
    sessions: () => orNull(identity.listUserSessions(named, options)),
    profile: () => orNull(audience.getSpaceProfiles(own, options)) as Promise<Profile | null>,
    everything: () => audience.getUserData({ userId, space_id: spaceId }, options),
  };
}

function isMissing(error: unknown): boolean {
  return error instanceof GrandstandError && error.status === 404;
}

interface Profile {
  readonly displayName: string | null;
  readonly createdAt: string | null;
  readonly customFields: Readonly<Record<string, unknown>>;
  readonly loyalty: {
    readonly metrics: Readonly<Record<string, number>>;
    readonly balances: Readonly<Record<string, { readonly available: number; readonly pending: number }>>;
    readonly inventory: Readonly<Record<string, readonly string[]>>;
    readonly tier: { readonly name: string } | null;
  };
}

type Change = (work: () => Promise<unknown>, done: string) => Promise<void>;
type Account = NonNullable<Awaited<ReturnType<ReturnType<typeof callsAbout>["account"]>>>;

export function Person({ context, tenants, userId, onLeave }: PersonProps) {
  const calls = callsAbout(context, tenants, userId);
  const answer = useAnswer(async () => {
    const [account, sessions, profile] = await Promise.all([
      calls.account(),
      calls.sessions(),
      calls.profile(),
    ]);
    return { account, sessions: sessions?.sessions ?? [], profile };
  }, context);
  const [fault, setFault] = useState("");
  const [changes, setChanges] = useState(0);
  async function act(work: () => Promise<unknown>, done: string): Promise<void> {
    setFault("");
    try {
      await work();
      context.announce(done);
      setChanges(count => count + 1);
      answer.again();
    } catch (error) {
      if (!context.signal.aborted) setFault(messageOf(error));
    }
  }
  const common = { context, tenants, userId, act };
  return (
    <div class="view">
      <button type="button" class="plain back" onClick={onLeave}>
        ‹ All people
      </button>
      <Shown answer={answer}>
        {({ account, sessions, profile }) => (
          <>
            <Head
              account={account}
              name={fanName(profile?.displayName || account?.username, userId)}
              {...common}
            />
            <Actions
              account={account}
              onLeave={onLeave}
              onDownload={() => download(calls, userId)}
              {...common}
            />
            <p class="fault" role="alert">
              {fault}
            </p>
            <Balances profile={profile} tenants={tenants} />
            <Ledger key={changes} {...common} />
            <Sessions sessions={sessions} tenants={tenants} />
          </>
        )}
      </Shown>
    </div>
  );
}

interface HeadProps {
  readonly account: Account | null;
  readonly name: string;
  readonly tenants: Tenants;
  readonly userId: string;
}

function Head({ account, name, tenants, userId }: HeadProps) {
  const address = account?.email ? `${account.email}${account.isEmailVerified ? " (verified)" : ""} · ` : "";
  return (
    <div class="row spread">
      <div>
        <h2 class="large" dir="auto">
          {name}
        </h2>
        <p class="quiet">
          {address}
          {originOf(account?.provider)} · {userId}
        </p>
      </div>
      {account?.ban && <Ban ban={account.ban} tenants={tenants} />}
    </div>
  );
}

interface ActionsProps extends PersonProps {
  readonly account: Account | null;
  readonly act: Change;
  readonly onDownload: () => Promise<void>;
}

function Actions({ context, tenants, userId, account, act, onLeave, onDownload }: ActionsProps) {
  const [form, setForm] = useState<"grant" | "ban" | null>(null);
  const { identity } = context.api;
  const named = { projectId: tenants.projectId, userId };
  const refusal = account === null ? "The person never signed up in this project." : null;
  const onClose = (done: string | null): void => {
    setForm(null);
    if (done !== null) void act(async () => {}, done);
  };
  async function signOut(): Promise<void> {
    const text = "All sessions of this person end at once, on every device.";
    if (await ask({ title: "Sign out everywhere?", text, confirm: "Sign out" }))
      await act(() => identity.revokeUserSessions(named), "Signed out everywhere.");
  }
  async function unban(): Promise<void> {
    const text = "The person can sign in and take part again.";
    if (await ask({ title: "Lift the ban?", text, confirm: "Lift the ban" }))
      await act(() => identity.unbanUser(named), "The ban is lifted.");
  }
  async function remove(): Promise<void> {
    const text = "Account, sessions, points, scores, profile and trail are deleted. This cannot be undone.";
    const typed = account?.email || userId;
    if (await ask({ title: "Delete this person?", text, confirm: "Delete for good", typed }))
      await act(() => identity.deleteUser(named).then(onLeave), "The person is deleted.");
  }
  const isBanned = account !== null && account.ban !== null;
  return (
    <div class="row">
      <button type="button" class="main" onClick={() => setForm("grant")}>
        Give points…
      </button>
      <Act refusal={refusal} onPress={() => void signOut()}>
        Sign out everywhere…
      </Act>
      <Act refusal={refusal} onPress={() => (isBanned ? void unban() : setForm("ban"))}>
        {isBanned ? "Lift the ban…" : "Ban…"}
      </Act>
      <button type="button" onClick={() => void act(onDownload, "The data is saved.")}>
        Download data
      </button>
      <button type="button" class="danger" onClick={() => void remove()}>
        Delete…
      </button>
      {form === "grant" && (
        <GrantForm context={context} tenants={tenants} userId={userId} onClose={onClose} />
      )}
      {form === "ban" && <BanForm context={context} tenants={tenants} userId={userId} onClose={onClose} />}
    </div>
  );
}

/** Keeps the document with all that is kept about a person as one file. */
async function download(calls: ReturnType<typeof callsAbout>, userId: string): Promise<void> {
  const document = await calls.everything();
  saveFile(`person-${userId.replace(/[^\w-]/g, "_")}.json`, JSON.stringify(document, null, 2));
}

interface BanProps {
  readonly ban: { readonly reason: string; readonly until: number | null };
  readonly tenants: Tenants;
}

function Ban({ ban: { reason, until }, tenants: { zone } }: BanProps) {
  const end = until === null ? "until it is lifted" : `until ${zone.moment(until)} (${zone.name})`;
  return (
    <p class="banned">
      <strong>Banned</strong> {end}: {reason}
    </p>
  );
}

function Balances({
  profile,
  tenants: { metrics },
}: {
  readonly profile: Profile | null;
  readonly tenants: Tenants;
}) {
  if (profile === null) return <p class="empty">Nothing is known of this person's points.</p>;
  const { metrics: has, balances, inventory, tier } = profile.loyalty;
  const items = Object.values(inventory).flat();
  return (
    <section>
      <dl class="summary">
        {Object.entries(has).map(([id, value]) => (
          <div key={id} class="card">
            <dt>{metrics.get(id) ?? id}</dt>
            <dd>{numbers.format(value)}</dd>
            {(balances[id]?.pending ?? 0) > 0 && (
              <dd class="quiet">{numbers.format(balances[id]?.pending ?? 0)} more pending</dd>
            )}
          </div>
        ))}
      </dl>
      {(tier !== null || items.length > 0) && (
        <p class="quiet">{[...(tier === null ? [] : [`Tier ${tier.name}`]), ...items].join(" · ")}</p>
      )}
    </section>
  );
}

interface SessionsProps {
  readonly sessions: readonly {
    readonly sessionId: string;
    readonly userAgent: string;
    readonly createdAt: number;
    readonly lastSeen: number;
  }[];
  readonly tenants: Tenants;
}

function Sessions({ sessions, tenants: { zone } }: SessionsProps) {
  return (
    <section>
      <h2>Sessions</h2>
      {sessions.length === 0 && <p class="empty">Nowhere signed in.</p>}
      <ul class="list">
        {sessions.map(({ sessionId, userAgent, createdAt, lastSeen }) => (
          <li key={sessionId} class="row spread">
            <span class="grow">{userAgent || "An unknown device"}</span>
            <span class="quiet">
              since {zone.moment(createdAt)}, seen {zone.moment(lastSeen)} ({zone.name})
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
