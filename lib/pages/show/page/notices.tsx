/** What the fan has earned, as it happens. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { Notice, Show } from "./show.ts";
import { t } from "./texts.ts";

/** How long a notice is shown, in ms. */
const shownMs = 5_000;
const shownMax = 2;

export function Toasts({ show }: { readonly show: Show }) {
  const notices = show.notices.value;
  const modal = notices.find(({ isModal }) => isModal);
  const toasts = notices.filter(({ isModal }) => !isModal);
  const rest = toasts.length - shownMax;
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // Shown anew they lie above a dialog that has opened meanwhile. Browsers before 2024 lack popovers.
    list.current?.hidePopover?.();
    list.current?.showPopover?.();
  }, [notices]);
  return (
    <>
      <div class="toasts" ref={list} popover="manual">
        {toasts.slice(0, shownMax).map(notice => (
          <Toast key={notice.id} notice={notice} onSeen={() => show.seen(notice.id)} />
        ))}
        {rest > 0 && <p class="toast">{t("more", { count: rest })}</p>}
      </div>
      {modal !== undefined && <Modal key={modal.id} notice={modal} onSeen={() => show.seen(modal.id)} />}
    </>
  );
}

interface NoticeProps {
  readonly notice: Notice;
  readonly onSeen: () => void;
}

/** Goes after some seconds, unless somebody points at it or the page is hidden. */
function Toast({ notice: { title, message }, onSeen }: NoticeProps) {
  const [isHeld, setHeld] = useState(false);
  useEffect(() => {
    if (isHeld) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    function count(): void {
      clearTimeout(timer);
      if (!document.hidden) timer = setTimeout(onSeen, shownMs);
    }
    count();
    document.addEventListener("visibilitychange", count);
    return () => {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", count);
    };
  }, [isHeld]);
  return (
    <div class="toast" onPointerEnter={() => setHeld(true)} onPointerLeave={() => setHeld(false)}>
      <div>
        <strong dir="auto">{title}</strong>
        {message !== "" && <p dir="auto">{message}</p>}
      </div>
      <button
        type="button"
        class="plain"
        aria-label={t("close")}
        onFocus={() => setHeld(true)}
        onBlur={() => setHeld(false)}
        onClick={onSeen}
      >
        ×
      </button>
    </div>
  );
}

function Modal({ notice: { title, message, isReward }, onSeen }: NoticeProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  function goToShop(): void {
    location.hash = "#/shop";
    dialog.current?.close();
  }
  return (
    <dialog ref={dialog} aria-labelledby="modal-title" onClose={onSeen}>
      <h2 id="modal-title" dir="auto">
        {title}
      </h2>
      <p dir="auto">{message}</p>
      {isReward && (
        <button type="button" class="main" onClick={goToShop}>
          {t("shop")}
        </button>
      )}
      <button type="button" class={isReward ? undefined : "main"} onClick={() => dialog.current?.close()}>
        {t("close")}
      </button>
    </dialog>
  );
}
