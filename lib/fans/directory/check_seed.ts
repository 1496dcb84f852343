import * as v from "valibot";
import { AppError, type FieldError, jsonPointer } from "../../base/errors/mod.ts";
import { type Immutable, issueDetail } from "../../http/mod.ts";
import { EventSchema, OrganisationSchema, ProjectSchema, SpaceSchema } from "./records.ts";

const SeedSchema = v.object({
  organisations: v.array(OrganisationSchema),
  spaces: v.array(SpaceSchema),
  projects: v.array(ProjectSchema),
  events: v.array(EventSchema),
  /** The loyalty configuration of a space by the space's id. */
  loyalty: v.optional(v.record(v.pipe(v.string(), v.uuid(), v.toLowerCase()), v.unknown()), {}),
});

/** A directory as one document, as it is written. */
export type Seed = Immutable<v.InferInput<typeof SeedSchema>>;
/** A seed whose records are valid, with lower-case ids, and belong together. */
export type CheckedSeed = v.InferOutput<typeof SeedSchema>;

/**
 * Validates a seed document.
 * @throws {AppError} `validation_failed` with the pointer of every fault.
 */
export function checkSeed(document: unknown): CheckedSeed {
  const result = v.safeParse(SeedSchema, document);
  if (!result.success) {
    throw invalid(
      result.issues.map(issue => ({
        pointer: jsonPointer(...(issue.path ?? []).map(({ key }) => String(key))),
        detail: issueDetail(issue),
      })),
    );
  }
  const faults = [...duplicates(result.output), ...foreignParents(result.output)];
  if (faults.length > 0) throw invalid(faults);
  return result.output;
}

function duplicates({ organisations, spaces, projects, events }: CheckedSeed): FieldError[] {
  const lists: [pointer: string, values: readonly (string | undefined)[]][] = [
    ["/organisations/#/id", organisations.map(({ id }) => id)],
    ["/spaces/#/id", spaces.map(({ id }) => id)],
    ["/spaces/#/domain", spaces.map(({ domain }) => domain)],
    ["/projects/#/id", projects.map(({ id }) => id)],
    ["/events/#/id", events.map(({ id }) => id)],
  ];
  return lists.flatMap(([pointer, values]) =>
    values.flatMap((value, index) =>
      value === undefined || values.indexOf(value) === index
        ? []
        : [
            {
              pointer: pointer.replace("#", String(index)),
              detail: "Expected one that no earlier record has",
            },
          ],
    ),
  );
}

/** Finds parents that the document lacks, and parents of different tenants. */
function foreignParents({ organisations, spaces, projects, events, loyalty }: CheckedSeed): FieldError[] {
  const organisationIds = new Set(organisations.map(({ id }) => id));
  const owners = new Map(spaces.map(({ id, organisationId }) => [id, organisationId]));
  const projectIds = new Set(projects.map(({ id }) => id));
  const faults: FieldError[] = [];
  function expect(isMet: boolean, pointer: string, parent: string): void {
    if (!isMet) faults.push({ pointer, detail: `Expected the id of ${parent} in this document` });
  }
  organisations.forEach(({ id, defaultSpaceId }, index) => {
    const isOwn = defaultSpaceId === undefined || owners.get(defaultSpaceId) === id;
    expect(isOwn, `/organisations/${index}/defaultSpaceId`, "a space of the organisation");
  });
  spaces.forEach(({ organisationId }, index) => {
    expect(organisationIds.has(organisationId), `/spaces/${index}/organisationId`, "an organisation");
  });
  projects.forEach(({ spaceId, organisationId }, index) => {
    expect(owners.has(spaceId), `/projects/${index}/spaceId`, "a space");
    const owner = owners.get(spaceId) ?? organisationId;
    expect(owner === organisationId, `/projects/${index}/organisationId`, "the organisation of the space");
  });
  events.forEach(({ projectId }, index) => {
    expect(projectIds.has(projectId), `/events/${index}/projectId`, "a project");
  });
  for (const id of Object.keys(loyalty)) expect(owners.has(id), `/loyalty/${id}`, "a space");
  return faults;
}

function invalid(fields: readonly FieldError[]): AppError {
  return new AppError("validation_failed", "Cannot seed the directory as the document is not valid", {
    fields,
  });
}
