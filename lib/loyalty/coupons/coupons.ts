/**
 * The coupons of users. A unique one is given without a code, as the user's partition knows nothing of the pool; the code is
 * claimed right afterwards under the coupon's id, and again whenever the coupon is looked at until it has one.
 *
 * @module
 */

import type { Clock } from "../../auth/mod.ts";
import { AppError } from "../../errors/mod.ts";
import { decide, type ReadRecord, type RecordCache, type Rule, type Store } from "../../storage/mod.ts";
import type { CompiledConfig } from "../config/compiled.ts";
import type { Coupon } from "../config/document.ts";
import { type Member, memberPartition } from "../user/member.ts";
import type { UserCoupon, UserState } from "../user/state.ts";
import type { CodePools } from "./code_pools.ts";

/** Most coupons of a user that are given a code at a time. */
export const couponsFilledMax = 50;
/** After how long a pool that was exhausted is asked again for a user who does not come back, in ms: an hour. */
export const couponRetryMs: number = 60 * 60 * 1_000;

/** A coupon as the loyalty API shows it. */
export interface CouponView {
  /** Of the user's own coupon. */
  readonly id: string;
  readonly title: string;
  readonly link: string;
  readonly coupon_id: string;
  readonly coupon_type: string;
  /** Empty while the pool has no code for it. */
  readonly coupon_code: string;
  readonly showOnNotification: boolean;
}

/** Shows coupons, and gives them codes. */
export interface Coupons {
  /**
   * Gives codes to those of a user's coupons that are without, and answers how many still are: because their pool is
   * exhausted, or as there are more than {@linkcode couponsFilledMax}.
   */
  assignCodes(member: Member, state: UserState): Promise<number>;
  /**
   * Shows one coupon of a user: by its own id, or the newest one of that coupon of the configuration. Coupons that have
   * expired are not there any more.
   *
   * @throws {AppError} `not_found`.
   */
  find(member: Member, id: string): Promise<CouponView>;
}

/** What coupons need. */
export interface CouponsOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly pools: Pick<CodePools, "claim">;
  readonly states: RecordCache<UserState>;
  readonly configOf: (spaceId: string) => CompiledConfig | Promise<CompiledConfig>;
}

type StateReads = readonly [ReadRecord];

/** Creates the coupons of all users. */
export function createCoupons({ store, clock, pools, states, configOf }: CouponsOptions): Coupons {
  async function fill(member: Member, state: UserState): Promise<UserState> {
    const config = await configOf(member.spaceId);
    const missing = withoutCode(config, state, clock()).slice(0, couponsFilledMax);
    const claims = missing.map(async ({ id, poolId }) => {
      const { organisationId, spaceId, userId } = member;
      const code = await pools.claim({ organisationId, spaceId, poolId }, `${id}/${userId}`);
      return code === null ? [] : [[id, code] as const];
    });
    const codes = new Map((await Promise.all(claims)).flat());
    if (codes.size === 0) return state;
    return await decide(store, memberPartition(member), fillRule(member, { codes, states }));
  }

  return {
    async assignCodes(member, state) {
      const filled = await fill(member, state);
      return withoutCode(await configOf(member.spaceId), filled, clock()).length;
    },
    async find(member, id) {
      const { coupons: known } = await configOf(member.spaceId);
      const partition = memberPartition(member);
      const [stored] = await store.read(partition, [states.query]);
      let state = stored === null ? null : states.valueOf(partition, stored);
      let held = state === null ? undefined : findCoupon(state, id, clock());
      const coupon = known.get(held?.couponId ?? "");
      if (state === null || held === undefined || coupon === undefined) throw unknownCoupon();
      if (held.code === null) {
        state = await fill(member, state);
        held = findCoupon(state, held.id, clock()) ?? held;
      }
      return couponView(coupon, held);
    },
  };
}

/** Puts codes on coupons. Codes are no part of what happened to a user, so the revision stays. */
function fillRule(
  member: Member,
  { codes, states }: { readonly codes: ReadonlyMap<string, string>; readonly states: RecordCache<UserState> },
): Rule<StateReads, UserState> {
  return {
    reads: [states.query],
    idempotent: true,
    apply: ([stored]) => {
      if (stored === null) throw unknownCoupon();
      const before = states.valueOf(memberPartition(member), stored);
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

interface Missing {
  readonly id: string;
  readonly poolId: string;
}

/** The coupons that are good and lack a code, and the pools that have some. */
function withoutCode(
  { coupons: known }: Pick<CompiledConfig, "coupons">,
  { coupons }: UserState,
  now: number,
): Missing[] {
  return coupons.flatMap(coupon => {
    const poolId = coupon.code === null ? known.get(coupon.couponId)?.poolId : undefined;
    return poolId === undefined || !isGood(coupon, now) ? [] : [{ id: coupon.id, poolId }];
  });
}

function findCoupon({ coupons }: UserState, id: string, now: number): UserCoupon | undefined {
  const good = coupons.filter(coupon => isGood(coupon, now));
  return good.find(coupon => coupon.id === id) ?? good.findLast(({ couponId }) => couponId === id);
}

function isGood({ expiresAt }: UserCoupon, now: number): boolean {
  return expiresAt === null || expiresAt > now;
}

/** A coupon of a user as the loyalty API shows it. */
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
