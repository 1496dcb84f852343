/**
 * When the seasons of a board begin and end, as settings declare it.
 *
 * @module
 */

import * as v from "valibot";
import { isTimeZone, timeZoneCharactersMax } from "../../calendar/mod.ts";
import { isTime } from "./rfc3339.ts";

/** Most seasons that a board may list. */
export const seasonsMax = 200;

/** Names that stand for a season found by its time, and that no season may have. */
export const seasonAliases = ["current", "previous"] as const;

/** A time in which a board counts for itself. */
export interface Season {
  /** As listed, or `2026-11-21`, `2026-W47` or `2026-11`. */
  readonly id: string;
  /** Unix ms. */
  readonly startsAt: number;
  /** Unix ms, exclusive. */
  readonly endsAt: number;
}

/** The seasons of a board: none, those listed, or every day, ISO week or month of a time zone. */
export type SeasonSchedule =
  | { readonly type: "none" }
  /** In ascending order, apart from each other. */
  | { readonly type: "explicit"; readonly list: readonly Season[] }
  | { readonly type: "daily" | "weekly" | "monthly"; readonly timeZone: string };

/** Checks the id of a season. */
export const SeasonIdSchema: v.GenericSchema<string, string> = v.pipe(
  v.string(),
  v.regex(/^[A-Za-z0-9_-]{1,64}$/, "Expected the id of a season"),
);

const time = v.pipe(
  v.string(),
  v.check(isTime, "Expected a time as in RFC 3339"),
  v.transform(text => Date.parse(text)),
);

const SeasonSchema = v.pipe(
  v.strictObject({
    id: v.pipe(
      SeasonIdSchema,
      v.check(
        id => !seasonAliases.some(alias => alias === id),
        `Expected an id other than ${seasonAliases.join(" and ")}`,
      ),
    ),
    startsAt: time,
    endsAt: time,
  }),
  v.forward(
    v.check(({ startsAt, endsAt }) => startsAt < endsAt, "Expected a time after startsAt"),
    ["endsAt"],
  ),
);

const ListSchema = v.pipe(
  v.array(SeasonSchema),
  v.minLength(1, "Expected at least one season"),
  v.maxLength(seasonsMax, `Expected at most ${seasonsMax} seasons`),
  v.rawCheck(({ dataset, addIssue }) => {
    if (!dataset.typed) return;
    const { value: list } = dataset;
    list.forEach((season, index) => {
      const at = { type: "array", origin: "value", input: list, key: index, value: season } as const;
      const member = { type: "object", origin: "value", input: { ...season } } as const;
      if (list.slice(0, index).some(({ id }) => id === season.id)) {
        const path = [at, { ...member, key: "id", value: season.id }] as const;
        addIssue({ message: "Expected an id that no earlier season has", path: [...path] });
      }
      if ((list[index - 1]?.endsAt ?? Number.NEGATIVE_INFINITY) > season.startsAt) {
        const path = [at, { ...member, key: "startsAt", value: season.startsAt }] as const;
        addIssue({ message: "Expected a time at which the season before has ended", path: [...path] });
      }
    });
  }),
);

const TimeZoneSchema = v.pipe(
  v.string(),
  v.maxLength(timeZoneCharactersMax),
  v.check(isTimeZone, "Expected a time zone of the IANA database, such as Europe/Berlin"),
);

/** Checks a schedule; times are written as in RFC 3339. */
export const SeasonScheduleSchema: v.GenericSchema<unknown, SeasonSchedule> = v.variant("type", [
  v.strictObject({ type: v.literal("none") }),
  v.strictObject({ type: v.literal("explicit"), list: ListSchema }),
  v.strictObject({
    type: v.picklist(["daily", "weekly", "monthly"]),
    timeZone: v.optional(TimeZoneSchema, "UTC"),
  }),
]);
