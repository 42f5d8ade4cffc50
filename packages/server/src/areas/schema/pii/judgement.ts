import { scoreName, wordsOf } from "./column-names.ts"
import { type EntityType, entityTypes } from "./entities.ts"
import { type Recognizer, recognizers } from "./recognizers.ts"
import type { CandidateColumn } from "./sampling.ts"

export interface Judgement {
  readonly entity: EntityType
  /** From 0 to 1. */
  readonly confidence: number
  /** What speaks for it, without any value. */
  readonly evidence: readonly string[]
}

export interface ColumnFacts {
  readonly table: string
  readonly column: CandidateColumn
  /** Not empty and trimmed. Undefined: no sample was taken. */
  readonly values?: readonly string[] | undefined
  readonly keyed?: ReadonlyMap<string, readonly string[]> | undefined
}

interface ShortenedFacts extends ColumnFacts {
  readonly short: readonly string[] | undefined
}

/** Fewer values than this say nothing against a name. */
const CONTRADICTING_MIN = 3
const CONTRADICTING_SHARE = 0.2
const CONTRADICTED = 0.35
const CONFIRMED = 0.6
const PLAUSIBLE = 0.25
/** Free text that names people now and then. */
const WITHIN_COUNT_MIN = 2
const WITHIN_SHARE_MIN = 0.03
const WITHIN_CONFIDENCE = 0.55
const ONCE_CONFIDENCE = 0.5
const TEXT_CHARS_MIN = 12
/** Longer values are texts: they are searched, and not held to be one value. */
const VALUE_CHARS_MAX = 200
const DENIED = 0.2
const NAME_MIN = 0.02

const INET_TYPE = 0.75
const MAC_TYPE = 0.82
/** Addresses of the own network are those of machines. */
const PRIVATE_ADDRESSES = 0.55
const PRIVATE =
  /^(?:10\.|127\.|169\.254\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|0\.0\.0\.0|::1|f[cd][\da-f]{2}:|fe80:)/i

const rounded = (share: number): string => share.toFixed(2)

interface Matches {
  readonly count: number
  readonly share: number
  readonly distinct: number
}

const NONE: Matches = { count: 0, share: 0, distinct: 0 }

const matchesOf = (values: readonly string[], test: (value: string) => boolean): Matches => {
  const matching = values.filter(test)
  return {
    count: matching.length,
    share: values.length === 0 ? 0 : matching.length / values.length,
    distinct: new Set(matching).size,
  }
}

/** What the values say alone. Many different ones are no accident, where one could be. */
const fromValues = (
  recognizer: Recognizer,
  { share, distinct }: Matches,
  words: readonly string[],
): number => {
  if (distinct === 0 || share < recognizer.shareMin) return 0
  const denied = words.some(word => recognizer.notNamed?.has(word)) ? DENIED : 1
  return recognizer.alone * (0.7 + 0.3 * share) * (1 - recognizer.chance ** distinct) * denied
}

/** What becomes of a name's score once values were seen. */
const withValues = (
  name: number,
  recognizer: Recognizer,
  values: readonly string[],
  { share: strict }: Matches,
): number => {
  if (values.length === 0 || name === 0) return name
  const loose = Math.max(strict, recognizer.plausible ? matchesOf(values, recognizer.plausible).share : 0)
  if (loose < CONTRADICTING_SHARE) return values.length >= CONTRADICTING_MIN ? name * CONTRADICTED : name
  // What a name that means something else looks like does not matter.
  const weight = name < 0.3 ? name : 1
  return name + (1 - name) * weight * Math.max(CONFIRMED * strict, PLAUSIBLE * loose * weight)
}

const within = (recognizer: Recognizer, values: readonly string[]): number => {
  const { within: find } = recognizer
  if (!find) return 0
  const texts = values.filter(value => value.length > TEXT_CHARS_MIN && value.includes(" "))
  if (texts.length === 0) return 0
  const found = matchesOf(texts, value => !recognizer.matches(value) && find(value))
  const share = found.count / values.length
  const isRare = found.distinct < WITHIN_COUNT_MIN || share < WITHIN_SHARE_MIN
  if (isRare) return recognizer.withinOnce && found.count > 0 ? ONCE_CONFIDENCE : 0
  return WITHIN_CONFIDENCE + 0.35 * Math.min(1, share)
}

const typeScore = (entity: EntityType, { family }: CandidateColumn): number => {
  if (entity === "IP_ADDRESS" && family === "net") return INET_TYPE
  return entity === "MAC_ADDRESS" && family === "mac" ? MAC_TYPE : 0
}

const networkFactor = (entity: EntityType, values: readonly string[]): number =>
  entity === "IP_ADDRESS" && values.length >= CONTRADICTING_MIN && values.every(value => PRIVATE.test(value))
    ? PRIVATE_ADDRESSES
    : 1

/** Which recognizers are worth asking: numbers without separators match too much of what only looks like text. */
const applies = (recognizer: Recognizer, { family }: CandidateColumn): boolean =>
  family === "text" ||
  family === "net" ||
  ((family === "integer" || family === "decimal") && recognizer.digits === true)

const judgeEntity = (
  entity: EntityType,
  facts: ShortenedFacts,
  name: number,
  words: readonly string[],
): Judgement | undefined => {
  const { column } = facts
  const texts = facts.values ?? (column.family === "enum" ? column.enums : [])
  const values = facts.short ?? texts
  const recognizer = recognizers[entity]
  const type = typeScore(entity, column)
  const usable = recognizer && (applies(recognizer, column) || column.family === "enum")
  // Most recognizers are asked of most columns for nothing: those that could only support a name wait for one.
  const asked = recognizer && (name > 0 || (usable && recognizer.alone > 0))
  const matches = asked ? matchesOf(values, recognizer.matches) : NONE
  const named = recognizer ? withValues(name, recognizer, values, matches) : name
  const alone = usable ? fromValues(recognizer, matches, words) : 0
  const inside = usable && column.family === "text" ? within(recognizer, texts) : 0
  const confidence = 1 - (1 - named) * (1 - alone) * (1 - type) * (1 - inside)
  if (confidence < NAME_MIN) return undefined
  const { share } = matches
  return {
    entity,
    confidence: Math.min(0.99, confidence) * networkFactor(entity, values),
    evidence: [
      ...(named >= 0.3 ? ["name"] : []),
      ...(type > 0 ? ["type"] : []),
      ...(recognizer && share > 0 && (alone > 0 || named >= 0.3)
        ? [`${recognizer.kind}:${rounded(share)}`]
        : []),
      ...(inside > 0 ? ["within_text"] : []),
    ],
  }
}

const best = (judgements: readonly Judgement[]): Judgement | undefined =>
  judgements.reduce<Judgement | undefined>(
    (first, next) => (first === undefined || next.confidence > first.confidence ? next : first),
    undefined,
  )

const judgePlain = (whole: ColumnFacts): Judgement[] => {
  const facts = { ...whole, short: whole.values?.map(value => value.slice(0, VALUE_CHARS_MAX)) }
  const { column, table } = facts
  const words = wordsOf(column.name)
  const names = scoreName(column.name, table, column.family)
  // A key that refers to another table names a row there, not a person; a natural key of text does both.
  const refers = column.is_foreign_key && column.family !== "text"
  return entityTypes.flatMap(
    entity => judgeEntity(entity, facts, refers ? 0 : (names.get(entity) ?? 0), words) ?? [],
  )
}

const TEXT = { family: "text", base: "text", is_array: false, is_foreign_key: false, enums: [] } as const

/** Keys of objects are judged as columns of text are; and keys may be values themselves, as in `{"ada@…": 3}`. */
const judgeKeyed = (facts: ColumnFacts): Judgement[] => {
  const { keyed = new Map<string, readonly string[]>(), table, column } = facts
  const byKey = [...keyed].flatMap(([name, values]) => {
    const judged = best(
      judgePlain({ table: `${table}_${column.name}`, column: { ...column, ...TEXT, name }, values }),
    )
    return judged ? [{ ...judged, evidence: judged.evidence.map(text => `json_${text}`) }] : []
  })
  const keysAsValues = judgePlain({
    table,
    column: { ...column, ...TEXT, name: "" },
    values: [...keyed.keys()],
  })
    .filter(({ entity }) => recognizers[entity]?.kind !== "dictionary")
    .map(judged => ({ ...judged, evidence: ["json_keys", ...judged.evidence] }))
  const all = new Map<EntityType, Judgement>()
  for (const judged of [...byKey, ...keysAsValues])
    if (judged.confidence > (all.get(judged.entity)?.confidence ?? 0)) all.set(judged.entity, judged)
  return [...all.values()]
}

/**
 * What kinds of personal data the column likely holds. A column of plain values is of one kind, the likeliest; a text that
 * mentions others, and a column of JSON objects, may be of several.
 */
export const judgeColumn = (facts: ColumnFacts): Judgement[] => {
  const plainly = judgePlain(facts)
  const first = best(plainly)
  const mentions = plainly.filter(judged => judged !== first && judged.evidence.includes("within_text"))
  return [...(first ? [first] : []), ...mentions, ...judgeKeyed(facts)]
}
