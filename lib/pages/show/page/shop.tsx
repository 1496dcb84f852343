/** What points buy. */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { GrandstandError } from "../../../client/mod.ts";
import { Picture } from "./content.tsx";
import type { Show } from "./show.ts";
import { number, t } from "./texts.ts";

type Product = Awaited<ReturnType<Show["client"]["audience"]["listAudienceProducts"]>>[number];

const reasons = ["insufficient_balance", "out_of_stock", "limit_reached", "not_available"] as const;

/** Returns products with one that was refused, as what the list said of it is old. */
function refused(
  products: readonly Product[],
  productId: string,
  reason: Product["reasons"][number],
): readonly Product[] {
  return products.map(each =>
    each.productId === productId ? { ...each, canRedeem: false, reasons: [reason] } : each,
  );
}

export function Shop({ show }: { readonly show: Show; readonly rest: string }) {
  const products = useSignal<readonly Product[] | null>(null);
  const note = useSignal("");
  const fan = show.fan.value;
  const isLost = show.lost.value !== null;
  useEffect(() => {
    if (fan === null) return;
    show.client.audience.listAudienceProducts().then(
      found => {
        products.value = found;
      },
      () => {},
    );
  }, [fan, show.points.value]);
  async function redeem({ productId, title, prices }: Product, currency: string): Promise<void> {
    try {
      const body = { quantity: 1, ...(prices.length > 1 && { currency }) };
      const { status } = await show.client.audience.redeemAudienceProduct({ productId, body });
      note.value = t(status === "completed" ? "redeemed" : "pending", { title });
      await show.acted();
    } catch (error) {
      const code = error instanceof GrandstandError ? error.code : "";
      const known = reasons.find(reason => reason === code);
      if (known !== undefined) products.value = refused(products.value ?? [], productId, known);
      note.value =
        known === undefined ? t("failed", { reason: error instanceof Error ? error.message : "" }) : t(known);
    }
    show.say(note.value);
  }
  if (fan === null) return <p class="card empty">{t("noHistory")}</p>;
  if (products.value === null) return <div class="card skeleton" aria-busy="true" />;
  return (
    <section class="shop">
      <h2>{t("shop")}</h2>
      {note.value !== "" && <p class="card">{note}</p>}
      {products.value.length === 0 && <p class="card empty">{t("noProducts")}</p>}
      <ul>
        {products.value.map(product => (
          <li key={product.productId} class="card product">
            <Picture url={product.media} />
            <h3 dir="auto">{product.title}</h3>
            {product.description !== "" && <p dir="auto">{product.description}</p>}
            {product.stock.type === "limited" && (
              <p class="quiet">{t("soldLeft", { count: product.stock.available })}</p>
            )}
            {product.prices.map(({ currency, amount }) => (
              <button
                key={currency}
                type="button"
                class="main"
                aria-disabled={isLost || !product.canRedeem}
                onClick={() => !isLost && product.canRedeem && void redeem(product, currency)}
              >
                {t("redeem")} · {number(amount)}
              </button>
            ))}
            {isLost && <p class="quiet">{t("readOnly")}</p>}
            {product.reasons.map(reason => (
              <p key={reason} class="quiet">
                {t(reasons.find(each => each === reason) ?? "not_available")}
              </p>
            ))}
          </li>
        ))}
      </ul>
    </section>
  );
}
