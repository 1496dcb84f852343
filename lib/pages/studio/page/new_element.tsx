/** New elements of an event: of a type of the project's app. */

import { useEffect, useState } from "preact/hooks";
import type { ContentType } from "../../../authoring/table/content_types.ts";
import type { Resource } from "./api.ts";
import { useCommands } from "./palette.tsx";
import type { Desk } from "./run/desk.ts";
import { Menu } from "./ui.tsx";
import type { ViewContext } from "./view.ts";

export interface NewElementProps {
  readonly context: ViewContext;
  readonly desk: Desk;
  /** Types of the project's app; null: it has none, or nobody has read them yet. */
  readonly types: readonly ContentType[] | null;
}

/** Reads the types of the project's app that it uses. */
export function useContentTypes(
  { api, signal }: ViewContext,
  projectId: string,
): readonly ContentType[] | null {
  const [types, setTypes] = useState<readonly ContentType[] | null>(null);
  useEffect(() => {
    const listed = api.control.listProjectContentTypes({ projectId }, { signal });
    const read = async (): Promise<void> => {
      const found = (await listed) as unknown as readonly Resource[];
      const used = found.filter(({ attributes }) => attributes.enabled !== false);
      // A project without an app has no types; its elements may be anything.
      if (found.length > 0) setTypes(used.map(({ attributes }) => attributes.definition as ContentType));
    };
    read().catch(() => {});
  }, []);
  return types;
}

/** Returns what the first template of a type fills in. */
export function firstTemplate({ templates }: ContentType): Readonly<Record<string, unknown>> {
  return templates?.[0]?.data ?? {};
}

export function NewElement({ desk, types }: NewElementProps) {
  const { refusal } = desk;
  const items = (types ?? []).map(type => ({
    label: type.name,
    refusal,
    to: () => void desk.create(type.content_type, firstTemplate(type)),
  }));
  useCommands(() => items.map(({ label, to }) => ({ label: `New: ${label}`, refusal, run: to })));
  if (types === null) return null;
  return (
    <div>
      <Menu label="New element" mark="+ New" items={items} />
    </div>
  );
}
