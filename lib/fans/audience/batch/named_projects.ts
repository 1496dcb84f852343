/**
 * The projects that items of bulk requests name.
 *
 * @module
 */

import { isUuid } from "../../../auth/crypto/mod.ts";
import { requireUnarchived } from "../../directory/directory.ts";
import type { Directory, Space } from "../../directory/mod.ts";
import { BodyErrors, type BulkItem } from "./items.ts";

/** Collects the projects that the items of a body name, so that each is looked up once. */
export class NamedProjects {
  readonly #items = new Map<string, BulkItem[]>();

  /** Reads the project of an item; undefined where it names none. */
  read(item: BulkItem): string | undefined {
    const { projectId } = item.content;
    if (projectId === undefined) return undefined;
    const id = typeof projectId === "string" ? projectId.toLowerCase() : "";
    const items = this.#items.get(id);
    if (items === undefined) this.#items.set(id, [item]);
    else items.push(item);
    return id;
  }

  /**
   * Checks that all of them are projects of the space.
   *
   * @throws {AppError} `validation_failed` with an error for every item that names another; `project_archived` for one of them.
   */
  async check(directory: Pick<Directory, "project">, { id: spaceId }: Pick<Space, "id">): Promise<void> {
    const errors = new BodyErrors();
    for (const [id, items] of this.#items) {
      const project = isUuid(id) ? await directory.project(id) : null;
      if (project?.spaceId === spaceId) {
        requireUnarchived(project);
        continue;
      }
      for (const { contentPath } of items) {
        errors.add("Expected the id of a project of the space", ...contentPath, "projectId");
      }
    }
    errors.throwIfAny();
  }
}
