/** Routes of products: listing them and redeeming one. */

import * as v from "valibot";
import { uuid } from "../../../auth/crypto/mod.ts";
import { isoTime } from "../../../base/calendar/mod.ts";
import { idempotencyKeyOf } from "../../../http/idempotency/idempotency.ts";
import { envelope, type Immutable, json, named, route } from "../../../http/mod.ts";
import { propertiesSchema } from "../../../http/requests/validate.ts";
import type { ProductView, RedemptionView } from "../../loyalty/products/products.ts";
import { FulfilmentSchema } from "../../loyalty/user/change_payload.ts";
import { TimeSchema } from "../lists/documents.ts";
import type { AudienceContext } from "./context.ts";
import { replySchema } from "./replies.ts";

const text = v.string();
const number = v.number();
const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const price = v.object({ currency: text, amount: number });

const ProductSchema = named(
  "Product",
  v.object({
    productId: text,
    title: text,
    description: text,
    media: text,
    category: text,
    sku: v.nullable(text),
    prices: v.array(price),
    stock: v.variant("type", [
      v.object({ type: v.literal("unlimited") }),
      v.object({ type: v.literal("limited"), available: count }),
    ]),
    limits: v.nullable(v.object({ perUser: count, window: v.nullable(text) })),
    availableFrom: v.nullable(TimeSchema),
    availableTo: v.nullable(TimeSchema),
    fulfilment: v.object({ type: text }),
    canRedeem: v.boolean(),
    reasons: v.array(text),
  }),
);

const RedemptionSchema = named(
  "Redemption",
  v.object({
    redemptionId: text,
    productId: text,
    quantity: count,
    cost: price,
    status: text,
    transactionId: v.nullable(text),
    fulfilment: FulfilmentSchema,
    balances: v.record(text, number),
    createdAt: TimeSchema,
  }),
);

const textCharactersMax = 256;
const RedeemObject = v.strictObject({
  currency: v.exactOptional(
    v.pipe(
      text,
      v.description("Metric to pay with; needed if the product has several prices"),
      v.maxLength(textCharactersMax),
    ),
  ),
  quantity: v.optional(
    v.pipe(number, v.description("Number of items"), v.safeInteger(), v.minValue(1), v.maxValue(100)),
    1,
  ),
  metadata: v.pipe(
    v.exactOptional(
      propertiesSchema({
        name: "RedemptionMetadata",
        entriesMax: 20,
        nameCharactersMax: textCharactersMax,
        textCharactersMax,
      }),
    ),
    v.description("Facts that are kept with the redemption"),
  ),
});
type Redeem = v.InferOutput<typeof RedeemObject>;
/** The body may be absent. An object schema takes a list for an object. */
const RedeemBody = v.optional(
  v.lazy(
    (input): v.GenericSchema<unknown, Redeem> =>
      Array.isArray(input) ? v.never("Expected an object") : RedeemObject,
  ),
  { quantity: 1 },
);

export function productRoutes({ guards, loyalty, random }: AudienceContext) {
  return [
    route({
      method: "GET",
      path: "/v1/api/audience/products",
      operation: "listAudienceProducts",
      summary: "List the products that are in stock and available",
      description: "All on one page, each with whether the user can redeem it and why not.",
      auth: guards.publicAudience("audience:read"),
      responses: {
        200: {
          description: "The products",
          schema: replySchema("ProductsReply", { data: v.array(ProductSchema), lastEvaluatedKey: v.null() }),
        },
      },
      handle: async ({ principal }) => {
        const products = await loyalty.products.list(principal.user);
        return json(200, { message: "OK", data: products.map(productDocument), lastEvaluatedKey: null });
      },
    }),
    route({
      method: "POST",
      path: "/v1/api/audience/products/:productId/redeem",
      operation: "redeemAudienceProduct",
      summary: "Redeem a product",
      description: "Pays with the user's points, once under an Idempotency-Key.",
      auth: guards.publicAudience("audience:write"),
      params: v.object({ productId: v.pipe(text, v.description("Id of the product")) }),
      body: {
        schema: RedeemBody,
        described: named("ProductRedemption", v.optional(RedeemObject)),
        example: { quantity: 1 },
      },
      responses: {
        201: {
          description: "The redemption",
          schema: replySchema("RedemptionReply", { data: RedemptionSchema }),
        },
      },
      errors: [
        "not_found",
        "insufficient_balance",
        "out_of_stock",
        "limit_reached",
        "not_available",
        "conflict",
        "busy",
      ],
      handle: async ({ principal, params, body, request }) => {
        const key = idempotencyKeyOf(request) ?? uuid(random);
        const order = { ...body, key, productId: params.productId };
        const redemption = await loyalty.products.redeem(principal.user, order);
        return envelope(redemptionDocument(redemption), { status: 201 });
      },
    }),
  ];
}

function productDocument(product: ProductView): Immutable<v.InferOutput<typeof ProductSchema>> {
  const { id, sku = null, limits, availableFrom, availableTo, ...shown } = product;
  const { title, description, media, category, prices, stock, fulfilment, canRedeem, reasons } = shown;
  return {
    productId: id,
    title,
    description,
    media,
    category,
    sku,
    prices,
    stock,
    limits: limits === undefined ? null : { perUser: limits.perUser, window: limits.window ?? null },
    availableFrom: timeOrNull(availableFrom),
    availableTo: timeOrNull(availableTo),
    fulfilment,
    canRedeem,
    reasons,
  };
}

/** Formats Unix seconds, where 0 is no time. */
function timeOrNull(seconds: number): string | null {
  return seconds === 0 ? null : isoTime(seconds * 1_000);
}

function redemptionDocument(redemption: RedemptionView): Immutable<v.InferOutput<typeof RedemptionSchema>> {
  const { id, productId, quantity, cost, status, transactionId, fulfilment, balances, createdAt } =
    redemption;
  return {
    redemptionId: id,
    productId,
    quantity,
    cost,
    status,
    transactionId,
    fulfilment,
    balances,
    createdAt: isoTime(createdAt),
  };
}
