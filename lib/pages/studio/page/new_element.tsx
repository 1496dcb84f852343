/** New elements of an event: of a type of the project's app. */

import { useEffect } from "preact/hooks";
import type { ContentType } from "../../../authoring/table/content_types.ts";
import type { Resource } from "./api.ts";
import { useCommands } from "./palette.tsx";
import { beginningsOf } from "./results.ts";
import type { Desk } from "./run/desk.ts";
import { Menu } from "./ui.tsx";
import type { ViewContext } from "./view.ts";

export interface NewElementProps {
  readonly context: ViewContext;
  readonly desk: Desk;
}

/** Reads the types of the project's app that it uses. */
export function useContentTypes({ api, signal }: ViewContext, desk: Desk): readonly ContentType[] | null {
  const { projectId } = desk.rundown;
  useEffect(() => {
    const listed = api.control.listProjectContentTypes({ projectId }, { signal });
    const read = async (): Promise<void> => {
      const found = (await listed) as unknown as readonly Resource[];
      const used = found.filter(({ attributes }) => attributes.enabled !== false);
      // A project without an app has no types; its elements may be anything.
      if (found.length > 0)
        desk.types.value = used.map(({ attributes }) => attributes.definition as ContentType);
    };
    read().catch(() => {});
  }, []);
  return desk.types.value;
}

export function NewElement({ desk }: NewElementProps) {
  const { refusal } = desk;
  const types = desk.types.value;
  const items = (types ?? []).flatMap(beginningsOf).map(({ label, contentType, data }) => ({
    label,
    refusal,
    to: () => void desk.create(contentType, data),
  }));
  useCommands(() => items.map(({ label, to }) => ({ label: `New: ${label}`, refusal, run: to })));
  if (types === null) return null;
  return (
    <div>
      <Menu label="New element" mark="+ New" items={items} />
    </div>
  );
}
