/** The fan: points, challenges, badges and history, and the account. */

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { type FanUser, GrandstandError } from "../../../client/mod.ts";
import { Coupon, type UserCoupon } from "./shop.tsx";
import { againMs, type Show } from "./show.ts";
import { SignIn } from "./sign_in.tsx";
import { moment, number, t, timeLeft } from "./texts.ts";

type Config = Awaited<ReturnType<Show["client"]["loyalty"]["getLoyaltyConfig"]>>;
type Challenges = Awaited<ReturnType<Show["client"]["audience"]["listAudienceChallenges"]>>;
type Profile = Awaited<ReturnType<Show["client"]["loyalty"]["getRewardsProfile"]>>;
type Transactions = Awaited<ReturnType<Show["client"]["loyalty"]["listLoyaltyHistory"]>>;

/** What has been read. */
interface Facts {
  readonly config?: Config;
  readonly profile?: Profile;
  readonly challenges?: Challenges;
  readonly history?: Transactions;
  readonly coupons?: readonly UserCoupon[];
  readonly name?: string;
}

const historyLimit = 50;
/** Coupons of the fan that are shown, the newest. */
const couponsMax = 10;

/** Reads the parts of what a fan has, each of which may fail. */
function readsOf({ client, data }: Show, fan: FanUser | null) {
  const { loyalty, audience } = client;
  if (fan === null) return { config: loyalty.getLoyaltyConfig({ space_id: data.project.spaceId }) };
  const history = loyalty.listLoyaltyHistory({ limit: historyLimit });
  return {
    config: loyalty.getLoyaltyConfig({}),
    profile: loyalty.getRewardsProfile(),
    challenges: audience.listAudienceChallenges(),
    history,
    coupons: history.then(found => couponsOf(loyalty, found)),
    name: nameOf({ client, data }, fan),
  };
}

/** Reads the coupons that the history tells of, the newest first. One that has expired is gone. */
async function couponsOf(
  loyalty: Show["client"]["loyalty"],
  history: Transactions,
): Promise<readonly UserCoupon[]> {
  const ids = history.flatMap(({ payload }) => payload.userCouponId ?? []);
  const newest = [...new Set(ids)].slice(-couponsMax).reverse();
  const found = await Promise.all(
    newest.map(couponId =>
      loyalty.getCoupon({ couponId }).catch((error: unknown) => {
        if (error instanceof GrandstandError && error.code === "not_found") return null;
        throw error;
      }),
    ),
  );
  return found.flatMap(coupon => coupon ?? []);
}

/** Returns the name that the fan took; empty for guests. */
async function nameOf(
  { client, data }: Pick<Show, "client" | "data">,
  { provider, externalId }: FanUser,
): Promise<string> {
  if (provider !== "noLogin" && provider !== "managedPool") return "";
  const found = await client.identity.getUser({
    projectId: data.project.id,
    provider,
    ...(provider === "noLogin" ? { strategy: "simplified", externalId } : { strategy: "email" }),
  });
  return "data" in found ? found.data.nickname : found.username;
}

/** Reads what a fan has, and again what could not be read. */
function useFacts(show: Show): Facts {
  const facts = useSignal<Facts>({});
  const owner = useRef<FanUser | null>(null);
  const tries = useSignal(0);
  const fan = show.fan.value;
  useEffect(() => {
    let again: ReturnType<typeof setTimeout> | undefined;
    let isLeft = false;
    if (owner.current?.userId !== fan?.userId) facts.value = {};
    owner.current = fan;
    const reads = Object.entries(readsOf(show, fan)).map(async ([part, read]) => {
      const found = await (read as Promise<unknown>);
      if (isLeft) return;
      facts.value = { ...facts.value, [part]: found };
      if (part === "profile") show.takePoints((found as Profile).metrics);
    });
    Promise.all(reads).catch(() => {
      if (!isLeft) again = setTimeout(() => (tries.value += 1), againMs * (1 + Math.random()));
    });
    return () => {
      isLeft = true;
      clearTimeout(again);
    };
  }, [fan, show.points.value, tries.value]);
  return facts.value;
}

export function Me({ show }: { readonly show: Show; readonly rest: string }) {
  const facts = useFacts(show);
  const fan = show.fan.value;
  return (
    <section class="me">
      <Balances show={show} facts={facts} />
      {show.data.settings.signIn !== "none" && <SignIn show={show} />}
      {fan !== null ? (
        <Earned show={show} facts={facts} />
      ) : facts.config === undefined ? (
        <Skeleton />
      ) : (
        <Earning config={facts.config} />
      )}
      <a class="card link" href="#/shop">
        {t("shop")} <span aria-hidden="true">›</span>
      </a>
      {fan !== null && <Account show={show} />}
    </section>
  );
}

function Skeleton() {
  return <div class="card skeleton" aria-busy="true" />;
}

interface PartProps {
  readonly show: Show;
  readonly facts: Facts;
}

function Balances({ show, facts }: PartProps) {
  const points = show.points.value;
  const metrics = facts.config?.metrics ?? [];
  const isGuest = facts.profile !== undefined && show.fan.value?.provider === "anonymous";
  return (
    <div class="card balances">
      {isGuest && <p class="quiet">{t("guestNote")}</p>}
      {facts.name && <h2 dir="auto">{facts.name}</h2>}
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
function Tiers({ facts, points }: Pick<PartProps, "facts"> & { readonly points: Show["points"]["value"] }) {
  const set = facts.config?.milestones.find(({ isTier, measure }) => isTier && measure === "balance");
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
      {next !== undefined && (
        <span class="quiet">
          +{number(next.threshold - has)} › <span dir="auto">{next.title}</span>
        </span>
      )}
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

function Earned({ show, facts }: PartProps) {
  const { config, profile, challenges, history, coupons = [] } = facts;
  return (
    <>
      {challenges === undefined ? <Skeleton /> : <ChallengeList show={show} challenges={challenges} />}
      {config !== undefined && profile !== undefined && <Badges config={config} profile={profile} />}
      {coupons.length > 0 && (
        <section class="card">
          <h2>{t("coupon")}</h2>
          {coupons.map(coupon => (
            <Coupon key={coupon.id} coupon={coupon} />
          ))}
        </section>
      )}
      {config === undefined || history === undefined ? (
        <Skeleton />
      ) : (
        <History show={show} config={config} history={history} />
      )}
    </>
  );
}

function ChallengeList({ show, challenges }: { readonly show: Show; readonly challenges: Challenges }) {
  return (
    <section class="card">
      <h2>{t("challenges")}</h2>
      {challenges.length === 0 && <p class="quiet">{t("noChallenges")}</p>}
      <ul class="challenges">
        {challenges.map(({ challengeId, title, status, progress, endsAt }) => {
          const left = Date.parse(endsAt ?? "") - show.time.now();
          return (
            <li key={challengeId}>
              <span dir="auto">{title}</span>
              <span class="quiet">
                {status === "completed"
                  ? t("done")
                  : `${number(progress.current)} / ${number(progress.target)}`}
              </span>
              <progress max={100} value={progress.percent} aria-label={title} />
              {status !== "completed" && left > 0 && <span class="quiet">{timeLeft(left)}</span>}
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function Badges({ config, profile }: { readonly config: Config; readonly profile: Profile }) {
  const badges = config.inventory.flatMap(set =>
    set.items.map(item => ({ ...item, has: profile.inventory[set.id]?.includes(item.id) === true })),
  );
  if (badges.length === 0) return null;
  return (
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
  );
}

interface HistoryProps {
  readonly show: Show;
  readonly config: Config;
  readonly history: Transactions;
}

function History({ show, config, history }: HistoryProps) {
  const levels = config.milestones.flatMap(set =>
    set.milestones.map(({ id, title }) => ({ id: `${set.id}/${id}`, title })),
  );
  const items = config.inventory.flatMap(set => set.items);
  const missions = config.challenges.flatMap(challenge => [challenge, ...challenge.missions]);
  const titled = [...config.metrics, ...items, ...levels, ...missions];
  const titles = new Map(titled.map(({ id, title }) => [id, title]));
  return (
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
  const isLost = show.lost.value !== null;
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
  function leave(): void {
    const say = (): void => show.say(t("signedOut"));
    // The session ends on this device also where the server does not answer.
    show.client.session.logOut().then(say, say);
  }
  return (
    <div class="account">
      <button type="button" class="plain" aria-disabled={isLost} onClick={() => !isLost && leave()}>
        {t("signOut")}
      </button>
      <button
        type="button"
        class="plain danger"
        aria-disabled={isLost}
        onClick={() => !isLost && asks.current?.showModal()}
      >
        {t("deleteAccount")}
      </button>
      {isLost && <p class="quiet">{t("readOnly")}</p>}
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
