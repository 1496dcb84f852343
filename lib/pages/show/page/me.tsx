/** The fan: points, challenges, badges and history, and the account. */

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Show } from "./show.ts";
import { SignIn } from "./sign_in.tsx";
import { moment, number, t } from "./texts.ts";

type Config = Awaited<ReturnType<Show["client"]["loyalty"]["getLoyaltyConfig"]>>;
type Challenges = Awaited<ReturnType<Show["client"]["audience"]["listAudienceChallenges"]>>;
type Profile = Awaited<ReturnType<Show["client"]["loyalty"]["getRewardsProfile"]>>;
type Transactions = Awaited<ReturnType<Show["client"]["loyalty"]["listLoyaltyHistory"]>>;

interface Facts {
  readonly config: Config;
  readonly profile: Profile | null;
  readonly challenges: Challenges;
  readonly history: Transactions;
}

const historyLimit = 50;

export function Me({ show }: { readonly show: Show; readonly rest: string }) {
  const facts = useSignal<Facts | null>(null);
  const fan = show.fan.value;
  useEffect(() => {
    let isLeft = false;
    const { loyalty, audience } = show.client;
    const isIn = fan !== null;
    Promise.all([
      loyalty.getLoyaltyConfig(isIn ? {} : { space_id: show.data.project.spaceId }),
      isIn ? loyalty.getRewardsProfile() : null,
      isIn ? audience.listAudienceChallenges() : [],
      isIn ? loyalty.listLoyaltyHistory({ limit: historyLimit }) : [],
    ]).then(
      ([config, profile, challenges, history]) => {
        if (isLeft) return;
        facts.value = { config, profile, challenges, history };
        if (profile !== null) show.takePoints(profile.metrics);
      },
      // What is on the page stays; the next visit reads it again.
      () => {},
    );
    return () => {
      isLeft = true;
    };
  }, [fan, show.points.value]);
  const { value: known } = facts;
  return (
    <section class="me">
      <Balances show={show} facts={known} />
      {show.data.settings.signIn !== "none" && <SignIn show={show} />}
      {known === null ? (
        <div class="card skeleton" aria-busy="true" />
      ) : fan === null ? (
        <Earning config={known.config} />
      ) : (
        <Earned show={show} facts={known} />
      )}
      <a class="card link" href="#/shop">
        {t("shop")} <span aria-hidden="true">›</span>
      </a>
      {fan !== null && <Account show={show} />}
    </section>
  );
}

function Balances({ show, facts }: { readonly show: Show; readonly facts: Facts | null }) {
  const points = show.points.value;
  const metrics = facts?.config.metrics ?? [];
  const name = facts?.profile === null || facts === null ? null : show.fan.value?.provider;
  return (
    <div class="card balances">
      {name === "anonymous" && <p class="quiet">{t("guestNote")}</p>}
      <dl>
        {(metrics.length === 0 ? [{ id: "", title: t("score") }] : metrics).map(({ id, title }) => (
          <div key={id}>
            <dt>{title}</dt>
            <dd>{points === null ? "–" : number(points[id] ?? 0)}</dd>
          </div>
        ))}
      </dl>
      <Tiers facts={facts} points={points} />
    </div>
  );
}

/** How far the next milestone is. */
function Tiers({
  facts,
  points,
}: {
  readonly facts: Facts | null;
  readonly points: Readonly<Record<string, number>> | null;
}) {
  const set = facts?.config.milestones.find(({ isTier, measure }) => isTier && measure === "balance");
  if (set === undefined || points === null) return null;
  const has = points[set.metricId] ?? 0;
  const next = set.milestones.find(({ threshold }) => threshold > has);
  const reached = set.milestones.findLast(({ threshold }) => threshold <= has);
  return (
    <p class="tier">
      {reached !== undefined && <strong>{reached.title}</strong>}
      {next !== undefined && (
        <progress max={next.threshold} value={has}>
          {next.title}
        </progress>
      )}
      {next !== undefined && <span class="quiet">{next.title}</span>}
    </p>
  );
}

/** What a fan who has nothing yet can do. */
function Earning({ config }: { readonly config: Config }) {
  return (
    <section class="card">
      <h2>{t("earn")}</h2>
      <p class="quiet">{t("noHistory")}</p>
      <ul class="challenges">
        {config.challenges.map(({ id, title }) => (
          <li key={id} dir="auto">
            {title}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Earned({ show, facts }: { readonly show: Show; readonly facts: Facts }) {
  const { config, profile, challenges, history } = facts;
  const badges = config.inventory.flatMap(set =>
    set.items.map(item => ({ ...item, has: profile?.inventory[set.id]?.includes(item.id) === true })),
  );
  const levels = config.milestones.flatMap(set =>
    set.milestones.map(({ id, title }) => ({ id: `${set.id}/${id}`, title })),
  );
  const missions = config.challenges.flatMap(challenge => [challenge, ...challenge.missions]);
  const titled = [...config.metrics, ...badges, ...levels, ...missions];
  const titles = new Map(titled.map(({ id, title }) => [id, title]));
  return (
    <>
      <section class="card">
        <h2>{t("challenges")}</h2>
        {challenges.length === 0 && <p class="quiet">{t("noChallenges")}</p>}
        <ul class="challenges">
          {challenges.map(({ challengeId, title, status, progress }) => (
            <li key={challengeId}>
              <span dir="auto">{title}</span>
              <span class="quiet">
                {status === "completed"
                  ? t("done")
                  : `${number(progress.current)} / ${number(progress.target)}`}
              </span>
              <progress max={100} value={progress.percent} aria-label={title} />
            </li>
          ))}
        </ul>
      </section>
      {badges.length > 0 && (
        <section class="card">
          <h2>{t("badges")}</h2>
          <ul class="badges">
            {badges.map(({ id, title, has }) => (
              <li key={id} data-has={has}>
                <span class="badge" aria-hidden="true">
                  {has ? "★" : "☆"}
                </span>
                <span dir="auto">{title}</span>
                {has && <span class="hidden">{t("done")}</span>}
              </li>
            ))}
          </ul>
        </section>
      )}
      <section class="card">
        <h2>{t("history")}</h2>
        {history.length === 0 && <p class="quiet">{t("noHistory")}</p>}
        <ul class="history">
          {history.toReversed().map(transaction => (
            <li key={transaction.id}>
              <span dir="auto">{wordsOf(transaction, titles)}</span>
              <span class="quiet">{moment(transaction.timestamp * 1_000, show.time.now())}</span>
            </li>
          ))}
        </ul>
      </section>
    </>
  );
}

/** Writes a change of the fan's loyalty in a few words. */
function wordsOf({ type, payload }: Transactions[number], titles: ReadonlyMap<string, string>): string {
  const { metricChanges, inventoryChanges, milestoneChanges, missionId, challengeId, couponId } = payload;
  const isLost = /(Lost|Failed)$/.test(type);
  const goal = titles.get(missionId ?? challengeId ?? "");
  const goals =
    goal === undefined
      ? []
      : [isLost ? t("lost", { title: goal }) : type.endsWith("Completed") ? `${t("done")}: ${goal}` : goal];
  const levels = Object.entries(milestoneChanges).map(([set, { oldValue, newValue }]) => {
    const level = isLost ? oldValue : newValue;
    return t(isLost ? "lost" : "reached", { title: titles.get(`${set}/${level}`) ?? level });
  });
  const changes = Object.entries(metricChanges).map(([id, { oldValue, newValue }]) => {
    const change = newValue - oldValue;
    // Titles are the project's and have one form: beside a number they would need the right one.
    return `${titles.get(id) ?? id} ${change > 0 ? "+" : ""}${number(change)}`;
  });
  const items = inventoryChanges.received.map(({ itemId }) => titles.get(itemId) ?? itemId);
  return (
    [...goals, ...levels, ...changes, ...items].join(", ") || t(couponId === undefined ? "changed" : "coupon")
  );
}

function Account({ show }: { readonly show: Show }) {
  const asks = useRef<HTMLDialogElement>(null);
  const fault = useSignal("");
  async function remove(): Promise<void> {
    const { session, identity } = show.client;
    const user = await session.user();
    if (user === null) return;
    const isSimple = user.externalId !== "";
    try {
      await identity.deleteOwnUser({
        projectId: show.data.project.id,
        strategy: isSimple ? "simplified" : "email",
        provider: user.provider,
        ...(isSimple && { externalId: user.externalId }),
        ...(user.provider === "anonymous" && { deviceId: await session.deviceId() }),
      } as Parameters<typeof identity.deleteOwnUser>[0]);
      asks.current?.close();
      await session.logOut();
    } catch (error) {
      fault.value = t("failed", { reason: error instanceof Error ? error.message : "" });
    }
  }
  return (
    <div class="account">
      <button
        type="button"
        class="plain"
        onClick={() =>
          show.client.session.logOut().then(
            () => show.say(t("signedOut")),
            () => {},
          )
        }
      >
        {t("signOut")}
      </button>
      <button type="button" class="plain danger" onClick={() => asks.current?.showModal()}>
        {t("deleteAccount")}
      </button>
      <dialog ref={asks} aria-labelledby="delete-title">
        <h2 id="delete-title">{t("deleteAccount")}</h2>
        <p>{t("deleteSure")}</p>
        <p class="fault" role="alert">
          {fault}
        </p>
        <div class="row">
          <button type="button" onClick={() => asks.current?.close()}>
            {t("cancel")}
          </button>
          <button type="button" class="danger" onClick={() => void remove()}>
            {t("deleteAccount")}
          </button>
        </div>
      </dialog>
    </div>
  );
}
