/** Figures for operators: the metrics of the process that answers, and the dead letters of all organisations. */

import * as v from "valibot";
import { AppError } from "../../base/errors/mod.ts";
import {
  bucketBounds,
  type MetricName,
  type MetricSample,
  type Metrics,
  metricDefinitions,
} from "../../base/metrics/mod.ts";
import type { ActionService } from "../../fans/audience/mod.ts";
import { describedText, type Guard, named, route } from "../../http/mod.ts";
import type { Author } from "./access/authors.ts";
import { answer, selfOf } from "./jsonapi/documents.ts";
import type { ControlServices } from "./services.ts";

interface ProcessRoutesContext {
  readonly services: ControlServices;
  readonly author: Guard<Author>;
  /** Null: the process measures nothing. */
  readonly metrics: Metrics | null;
  readonly deadLetters: ActionService["deadLetters"];
  readonly holder: string;
}

const number = (description: string) => v.pipe(v.number(), v.description(description));
const FigureSchema = v.object({
  name: describedText("Name of the metric"),
  labels: v.pipe(v.record(v.string(), v.string()), v.description("Its labels")),
  value: v.exactOptional(number("Value of a counter or gauge")),
  sum: v.exactOptional(number("Sum of the values of a histogram, in seconds")),
  buckets: v.exactOptional(
    v.pipe(
      v.array(v.number()),
      v.description("Values of a histogram that are at most each bound; the last number counts all"),
    ),
  ),
});
type Figure = v.InferOutput<typeof FigureSchema>;

const ProcessSchema = named(
  "Process",
  v.object({
    data: v.object({
      type: v.literal("processes"),
      id: describedText("Id of the process, until it ends"),
      attributes: v.object({
        measured_at: number("Unix time in seconds, with a fraction"),
        bucket_bounds: v.pipe(v.array(v.number()), v.description("Bounds of histograms, in seconds")),
        figures: v.pipe(
          v.nullable(v.array(FigureSchema)),
          v.description("The metrics; null where the process measures nothing"),
        ),
      }),
    }),
  }),
);
const DeadLetterCountsSchema = named(
  "DeadLetterCounts",
  v.object({
    data: v.array(
      v.object({
        type: v.literal("dead_letter_counts"),
        id: describedText("Id of the organisation"),
        attributes: v.object({
          name: describedText("Name of the organisation"),
          space_id: describedText("A space of the organisation, for the operations on its dead letters"),
          count: v.pipe(v.number(), v.integer(), v.description("Number of its dead letters")),
        }),
      }),
    ),
    links: v.object({ self: describedText("Address of the list") }),
  }),
);

export function processRoutes(context: ProcessRoutesContext) {
  return [processRoute(context), deadLetterCountsRoute(context)];
}

function processRoute({ services, author, metrics, holder }: ProcessRoutesContext) {
  return route({
    method: "GET",
    path: "/api/v2/process",
    operation: "readProcess",
    summary: "Read the figures of the process",
    description:
      "Answers the metrics of the process that serves the request; other processes have their own. For operators.",
    auth: author,
    responses: { 200: { description: "The figures", schema: ProcessSchema } },
    errors: ["forbidden", "not_acceptable"],
    handle: async call => {
      requireOperator(call.principal);
      const figures = metrics === null ? null : figuresOf(await metrics.snapshot());
      const attributes = {
        measured_at: services.clock() / 1_000,
        bucket_bounds: [...bucketBounds],
        figures,
      };
      return answer(call, { data: { type: "processes", id: holder, attributes } } as never) as never;
    },
  });
}

function deadLetterCountsRoute({ services, author, deadLetters }: ProcessRoutesContext) {
  const { directory } = services;
  return route({
    method: "GET",
    path: "/api/v2/dead_letter_counts",
    operation: "listDeadLetterCounts",
    summary: "List the organisations with dead letters",
    description:
      "Counts actions that could not be applied, of the 500 oldest organisations; those without any are left out. For operators.",
    auth: author,
    responses: { 200: { description: "The organisations", schema: DeadLetterCountsSchema } },
    errors: ["forbidden", "not_acceptable"],
    handle: async call => {
      requireOperator(call.principal);
      const counts = await deadLetters.count();
      const names = await Promise.all(counts.map(one => directory.organisation(one.organisationId)));
      const data = counts.map(({ organisationId: id, spaceId, count }, index) => ({
        type: "dead_letter_counts",
        id,
        attributes: { name: names[index]?.name ?? "", space_id: spaceId, count },
      }));
      return answer(call, { data, links: { self: selfOf(services, call) } } as never) as never;
    },
  });
}

/** A token of some places is no operator's. */
function requireOperator({ user, token }: Author): void {
  if (user.systemRole === "operator" && token.scopes === null) return;
  throw new AppError("forbidden", "Cannot read this as it is for operators");
}

function figuresOf(samples: readonly MetricSample[]): readonly Figure[] {
  const figures: Figure[] = [];
  let buckets: number[] = [];
  for (const { name, labels, value } of samples) {
    if (Object.hasOwn(metricDefinitions, name)) figures.push({ name, labels: { ...labels }, value });
    else if (name.endsWith("_bucket")) buckets.push(value);
    else if (name.endsWith("_sum")) {
      figures.push({ name: histogramOf(name), labels: { ...labels }, sum: value, buckets });
      buckets = [];
    }
  }
  return figures;
}

function histogramOf(name: string): MetricName {
  return name.slice(0, -"_sum".length) as MetricName;
}
