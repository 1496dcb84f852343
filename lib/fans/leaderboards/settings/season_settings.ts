/**
 * The settings that say when the seasons of a board begin and end.
 *
 * @module
 */

import * as v from "valibot";
import {
  instantExpectation,
  isTimeZone,
  parseInstant,
  timeZoneCharactersMax,
} from "../../../base/calendar/mod.ts";

/** Most seasons that a board may list. */
export const seasonsMax = 200;

/** Names that stand for a season found by its time, and that no season may have. */
const seasonAliases = ["current", "previous"] as const;

/** Validates the id of a season. */
export const SeasonIdSchema = v.pipe(
  v.string(),
  v.regex(/^[A-Za-z0-9_-]{1,64}$/, "Expected the id of a season"),
);

const TimeSchema = v.pipe(
  v.union([v.string(), v.number()], instantExpectation),
  v.transform((value): unknown => parseInstant(value)),
  v.number(instantExpectation),
);

const SeasonSchema = v.pipe(
  v.strictObject({
    /** As listed, or `2026-11-21`, `2026-W47` or `2026-11`. */
    id: v.pipe(
      SeasonIdSchema,
      v.check(
        id => !seasonAliases.some(alias => alias === id),
        `Expected an id other than ${seasonAliases.join(" and ")}`,
      ),
    ),
    /** Unix ms. */
    startsAt: TimeSchema,
    /** Unix ms, exclusive. */
    endsAt: TimeSchema,
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

/** Validates a schedule: no seasons, a list in ascending order, or every day, ISO week or month of a time zone. */
export const SeasonScheduleSchema = v.variant("type", [
  v.strictObject({ type: v.literal("none") }),
  v.strictObject({ type: v.literal("explicit"), list: ListSchema }),
  v.strictObject({
    type: v.picklist(["daily", "weekly", "monthly"]),
    timeZone: v.optional(TimeZoneSchema, "UTC"),
  }),
]);

/** A period in which a board counts separately. */
export type Season = Readonly<v.InferOutput<typeof SeasonSchema>>;
/** The seasons of a board. */
export type SeasonSchedule = Readonly<v.InferOutput<typeof SeasonScheduleSchema>>;
