/** The fans' page as it will show an element, also a draft that is not saved. */

import { useEffect, useRef } from "preact/hooks";
import { type FeedAssets, feedElement } from "../../../authoring/feeds/feed_element.ts";
import { type Preview as Sent, sendPreviews } from "./preview.ts";

/** An element of the control API. */
interface Element {
  readonly id: string;
  readonly attributes: Readonly<Record<string, unknown>>;
}

export type PreviewView = "phone" | "screen" | "overlay";

export interface PreviewProps {
  /** Id of the event, or of the project where there is none. */
  readonly event?: string | undefined;
  readonly project?: string | undefined;
  readonly element?: Element | undefined;
  /** Attributes that are not saved yet. */
  readonly draft?: Readonly<Record<string, unknown>> | undefined;
  /** The elements of a group. */
  readonly parts?: readonly Element[] | undefined;
  /** Files that the elements name by their ids. */
  readonly assets?: FeedAssets | undefined;
  /** Votes for each option. */
  readonly votes?: readonly number[] | undefined;
  readonly locale?: string | undefined;
  readonly view?: PreviewView | undefined;
  /** `services.show` that is not saved yet. */
  readonly settings?: Sent["settings"];
}

const openStates: readonly unknown[] = ["current", "past", "on_demand"];

/** Shows an element in a frame that can read nothing of the studio. */
export function Preview(props: PreviewProps) {
  const { event, project, view = "phone" } = props;
  const frame = useRef<HTMLIFrameElement>(null);
  const sender = useRef<ReturnType<typeof sendPreviews> | null>(null);
  const place = new URLSearchParams({
    ...(event === undefined ? { project: project ?? "" } : { event }),
    preview: "1",
    ...(view !== "phone" && { view }),
  });
  useEffect(() => {
    const { current } = frame;
    if (current === null) return;
    const made = sendPreviews(current);
    sender.current = made;
    return made.close;
  }, []);
  const preview = previewOf(props);
  const text = JSON.stringify(preview);
  useEffect(() => sender.current?.send(preview), [text]);
  return (
    <div class="preview" data-view={view}>
      <iframe ref={frame} title="Preview" sandbox="allow-scripts" src={`show?${place}`} />
    </div>
  );
}

function previewOf({ element, draft = {}, parts = [], assets, votes, locale, settings }: PreviewProps): Sent {
  if (element === undefined) return { timeline: [], stats: [], isLive: false, locale, settings };
  const drawn = { ...element, attributes: { ...element.attributes, ...draft } };
  return {
    timeline: [itemOf(drawn, { assets }), ...parts.map(part => itemOf(part, { assets, parent: element.id }))],
    stats: [{ id: element.id, actions: 0, ...(votes !== undefined && { votes: [...votes] }) }],
    isLive: element.attributes.state === "current",
    locale,
    settings,
  };
}

/** Returns an element as it looks once it is published: a draft is open, and its answer is not public. */
function itemOf(
  { id, attributes }: Element,
  more: { readonly assets: FeedAssets | undefined; readonly parent?: string },
): Sent["timeline"][number] {
  const { state, published_at: published, duration, answer_revealed_at_iso: answered } = attributes;
  const isPublished = openStates.includes(state);
  const publishedAt = isPublished ? Number(published ?? 0) : 0;
  return feedElement({
    id,
    attributes,
    ...more,
    state: isPublished ? String(state) : "current",
    publishedAt,
    // The time of a draft begins when it is published.
    closesAt: isPublished && Number(duration) > 0 ? publishedAt + Number(duration) : null,
    updatedAt: publishedAt,
    isAnswered: isPublished && typeof answered === "string",
  });
}
