/** The analytics of an event. */

import * as v from "valibot";
import { integerParameter, named, route } from "../../http/mod.ts";
import { readAnalytics } from "../feeds/mod.ts";
import { requireAccess } from "./access/roles.ts";
import { answer, idOf, idParams } from "./jsonapi/documents.ts";
import { notFound } from "./kind.ts";
import type { ResourceRoutesContext } from "./write.ts";

const count = (description: string) => v.pipe(v.number(), v.integer(), v.description(description));
const seconds = (description: string) => v.pipe(v.number(), v.description(`${description}, in Unix seconds`));
const figures = {
  people: count("People who acted"),
  actions: count("Actions that took effect"),
  points: v.pipe(v.record(v.string(), v.number()), v.description("What people gained by them, by metric")),
};
const elementFigures = {
  ...figures,
  votes: v.pipe(v.array(v.number()), v.description("Number of choices of each option, in order")),
};
const from = { from: seconds("When the step begins") };

const AnalyticsSchema = named(
  "EventAnalytics",
  v.object({
    data: v.object({
      type: v.literal("event_analytics"),
      id: v.pipe(v.string(), v.description("Id of the event")),
      attributes: v.object({
        as_of: seconds("When it was read"),
        step: count("Seconds of a step"),
        is_exact: v.pipe(v.boolean(), v.description("False if numbers of people are estimates")),
        watching: count("Listeners of live streams now"),
        ...figures,
        steps: v.pipe(
          v.array(v.object({ ...from, ...figures })),
          v.description("Steps with actions, in order"),
        ),
        elements: v.pipe(
          v.array(
            v.object({
              id: v.pipe(v.string(), v.description("Id of the element")),
              ...elementFigures,
              steps: v.array(v.object({ ...from, ...elementFigures })),
            }),
          ),
          v.description("Elements that actions named"),
        ),
        retention: v.pipe(
          v.object({
            step: count("Seconds of a step: a multiple of `step` that makes at most 60 of them"),
            cohorts: v.array(
              v.object({
                ...from,
                people: count("People who acted first in this step"),
                acted: v.pipe(
                  v.array(v.number()),
                  v.description("How many of them acted in this step, and in each that follows"),
                ),
              }),
            ),
          }),
          v.description("Who comes back"),
        ),
      }),
    }),
  }),
);

/** Builds the route that answers what people did in an event, and when. */
export function analyticsRoute({ services, author }: ResourceRoutesContext) {
  return route({
    method: "GET",
    path: "/api/v2/events/:eventId/analytics",
    operation: "readEventAnalytics",
    summary: "Read the analytics of an event",
    description:
      "Answers how many people acted, what they did and gained by step and element, and how many came back. Needs the role viewer.",
    auth: author,
    params: idParams("events"),
    query: v.strictObject({
      step: v.optional(
        v.pipe(
          integerParameter({ description: "Seconds of a step: whole minutes", minimum: 60, maximum: 86_400 }),
          v.multipleOf(60, "Expected a multiple of 60"),
        ),
        "60",
      ),
    }),
    responses: { 200: { description: "The analytics", schema: AnalyticsSchema } },
    errors: ["not_found", "forbidden", "not_acceptable"],
    handle: async call => {
      const eventId = idOf(call, "events");
      const home = await services.places.homeOf(eventId);
      const access = { needed: "viewer", noun: "event", eventId } as const;
      await requireAccess(services, call.principal, home, access);
      if (home?.kind !== "project") throw notFound("event");
      const { step } = call.query;
      const found = await readAnalytics(services, { projectId: home.id, eventId }, step);
      if (found === null) throw notFound("event");
      const { isExact, ...shown } = found;
      const as_of = Math.floor(services.clock() / 1_000);
      const attributes = { as_of, step, is_exact: isExact, ...shown };
      return answer(call, { data: { type: "event_analytics", id: eventId, attributes } } as never) as never;
    },
  });
}
