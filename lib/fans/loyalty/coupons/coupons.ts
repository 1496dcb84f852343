/**
 * The coupons of users. A unique coupon is given without a code, since the user's partition knows nothing of the pool. The code is
 * claimed right afterwards under the coupon's id, and whenever the coupon is read until it has one.
 */

import type * as v from "valibot";
import { AppError, jsonPointer } from "../../../base/errors/mod.ts";
import type { Announcer } from "../../../base/outbound/outbound.ts";
import type { Immutable } from "../../../http/mod.ts";
import { Cache } from "../../../storage/background/mod.ts";
import { decide, type ReadRecord, type RecordCache, type Rule } from "../../../storage/mod.ts";
import type { CompiledConfig } from "../config/compiled.ts";
import type { Coupon } from "../config/document.ts";
import { isCouponValid } from "../engine/rewards.ts";
import type { LoyaltyServices } from "../services.ts";
import type { UserCouponSchema } from "../user/change_payload.ts";
import type { UserCoupon, UserState } from "../user/state.ts";
import { type SpaceUser, spaceUserPartition } from "../user/state.ts";
import type { CodePoolServices, CodePools } from "./code_pools.ts";

const assignedMax = 50;
/** Pause before an exhausted pool is asked again for an inactive user, in ms: an hour. */
export const couponRetryMs: number = 60 * 60 * 1_000;

/** A coupon as the loyalty API shows it. */
export type CouponView = Immutable<v.InferOutput<typeof UserCouponSchema>>;

/** The coupons of all users: they are found, and given codes. */
export type Coupons = ReturnType<typeof createCoupons>;

export function createCoupons({ store, clock, states, configOf }: LoyaltyServices, pools: CodePools) {
  async function assign(user: SpaceUser, state: UserState): Promise<UserState> {
    const config = await configOf(user.spaceId);
    const missing = withoutCode(config, state, clock()).slice(0, assignedMax);
    const claims = missing.map(async ({ id, poolId, expiresAt }) => {
      const { organisationId, spaceId, userId } = user;
      const claimed = await pools.claim({ organisationId, spaceId, poolId }, `${id}/${userId}`, expiresAt);
      return claimed === null ? [] : [[id, claimed.code] as const];
    });
    const codes = new Map((await Promise.all(claims)).flat());
    if (codes.size === 0) return state;
    return await decide(store, spaceUserPartition(user), assignRule(user, { codes, states }));
  }

  return {
    /** Assigns codes to a user's coupons without one and returns how many still have none. */
    async assignCodes(user: SpaceUser, state: UserState): Promise<number> {
      const after = await assign(user, state);
      return withoutCode(await configOf(user.spaceId), after, clock()).length;
    },
    /**
     * Finds a valid coupon of a user, by its own id or the newest one of a coupon of the configuration.
     *
     * @throws {AppError} `not_found`.
     */
    async find(user: SpaceUser, id: string): Promise<CouponView> {
      const { coupons: declared } = await configOf(user.spaceId);
      const partition = spaceUserPartition(user);
      const [stored] = await store.read(partition, [states.query]);
      let state = stored === null ? null : states.valueOf(partition, stored);
      let held = state === null ? undefined : findCoupon(state, id, clock());
      const coupon = declared.get(held?.couponId ?? "");
      if (state === null || held === undefined || coupon === undefined) throw unknownCoupon();
      if (held.code === null) {
        state = await assign(user, state);
        held = findCoupon(state, held.id, clock()) ?? held;
      }
      return couponView(coupon, held);
    },
  };
}

/** Stores codes on coupons. The revision stays, because codes change nothing that boards or readers depend on. */
function assignRule(
  user: SpaceUser,
  { codes, states }: { readonly codes: ReadonlyMap<string, string>; readonly states: RecordCache<UserState> },
): Rule<readonly [ReadRecord], UserState> {
  return {
    reads: [states.query],
    idempotent: true,
    apply: ([stored]) => {
      if (stored === null) throw unknownCoupon();
      const before = states.valueOf(spaceUserPartition(user), stored);
      const coupons = before.coupons.map(one => {
        const code = one.code === null ? codes.get(one.id) : undefined;
        return code === undefined ? one : { ...one, code };
      });
      if (coupons.every((one, index) => one === before.coupons[index])) return { writes: [], answer: before };
      const state = { ...before, coupons };
      return { writes: [states.put(state)], answer: state };
    },
  };
}

/** Lists valid coupons that lack a code, with their pools. Those of a merged user are the account's. */
function withoutCode(
  { coupons: declared }: Pick<CompiledConfig, "coupons">,
  { coupons, mergedInto }: UserState,
  now: number,
): (Pick<UserCoupon, "id" | "expiresAt"> & { readonly poolId: string })[] {
  if (mergedInto !== null) return [];
  return coupons.flatMap(coupon => {
    const poolId = coupon.code === null ? declared.get(coupon.couponId)?.poolId : undefined;
    return poolId === undefined || !isCouponValid(coupon, now) ? [] : [{ ...coupon, poolId }];
  });
}

function findCoupon({ coupons }: UserState, id: string, now: number): UserCoupon | undefined {
  const valid = coupons.filter(coupon => isCouponValid(coupon, now));
  return valid.find(coupon => coupon.id === id) ?? valid.findLast(({ couponId }) => couponId === id);
}

export function couponView(coupon: Coupon, { id, code }: UserCoupon): CouponView {
  const { title, link, type, showOnNotification } = coupon;
  return {
    id,
    title,
    link,
    coupon_id: coupon.id,
    coupon_type: type,
    coupon_code: code ?? "",
    showOnNotification,
  };
}

function unknownCoupon(): AppError {
  return new AppError("not_found", "Cannot show the coupon as the user has no such coupon");
}

const warned = { entriesMax: 1_000, maxAgeMs: 60 * 60 * 1_000 };

interface FillWarnings {
  readonly onLow: CodePoolServices["onLow"];
  /** Resolves once webhooks know of all warnings. */
  idle(): Promise<void>;
}

export function createFillWarnings({
  logger,
  clock,
  webhooks,
}: Pick<LoyaltyServices, "logger" | "clock"> & { readonly webhooks: Announcer }): FillWarnings {
  const recent = new Cache<true>({ ...warned, clock });
  const announced = new Set<Promise<void>>();
  const onLow: CodePoolServices["onLow"] = ({ organisationId, spaceId, poolId }, fill) => {
    const event = fill.available === 0 ? "codePoolEmpty" : "codePoolLow";
    const name = jsonPointer(spaceId, poolId, event);
    if (recent.get(name) !== undefined) return;
    recent.set(name, true);
    const data = { spaceId, poolId, ...fill };
    logger.log("warn", fill.available === 0 ? "code_pool_empty" : "code_pool_low", data);
    // Receivers know a repetition by its id, which changes when codes are added.
    const id = `${event}:${poolId}:${fill.total}`;
    const announcement = webhooks
      .announce({
        organisationId,
        spaceId,
        area: "loyalty",
        id,
        event,
        at: clock(),
        data: { organisationId, ...data },
      })
      .catch((error: unknown) =>
        logger.log("warn", "code_pool_announcement_failed", { poolId, error: String(error) }),
      )
      .finally(() => announced.delete(announcement));
    announced.add(announcement);
  };
  return { onLow, idle: async () => void (await Promise.all(announced)) };
}
