/**
 * The messages between the studio and the fans' page in its preview. That frame has no origin and makes no request: it shows what it is sent.
 */

import type { LiveEvent } from "../../../client/mod.ts";

/** What the page shows. Each message replaces the one before. */
export interface Preview {
  readonly timeline: LiveEvent["history"]["timeline"];
  readonly stats: LiveEvent["livestats"]["elements"];
  /** True if fans see it as it is shown, so that the page says so. */
  readonly isLive: boolean;
  /** Absent: the language that the browser prefers. */
  readonly locale?: string | undefined;
  /** `services.show` in place of that of the project. */
  readonly settings?: Readonly<Record<string, unknown>> | undefined;
}

const readyType = "grandstand:preview-ready";
const showType = "grandstand:preview";

/** Follows previews that the studio sends, for as long as the page is open. */
export function receivePreviews(show: (preview: Preview) => void): void {
  addEventListener("message", ({ source, origin, data }) => {
    if (source === parent && origin === location.origin && data?.type === showType) show(data.preview);
  });
  parent.postMessage({ type: readyType }, location.origin);
}

/** Sends previews to a frame. Call `send` for each, and `close` at the end. */
export function sendPreviews(frame: HTMLIFrameElement): {
  readonly send: (preview: Preview) => void;
  readonly close: () => void;
} {
  let last: Preview | null = null;
  let isReady = false;
  function post(): void {
    // A frame without an origin has no narrower target; the policy of the studio lets it show pages of the platform alone.
    if (isReady && last !== null) frame.contentWindow?.postMessage({ type: showType, preview: last }, "*");
  }
  function hear({ source, data }: MessageEvent): void {
    if (source !== frame.contentWindow || data?.type !== readyType) return;
    isReady = true;
    post();
  }
  addEventListener("message", hear);
  return {
    send(preview) {
      last = preview;
      post();
    },
    close: () => removeEventListener("message", hear),
  };
}
