/**
 * Which slots have which metadata. Slots are handed out in growing order, so every list is sorted by itself; slots of
 * vectors that are gone stay in the lists until `renumber`, and the collection masks them.
 */
import { createHash } from "node:crypto"
import { type Condition, flattenMetadata, isWithin, type Scalar, timeOf } from "../../filter.ts"
import { allBits, type Bits, eachBit, intersect, noBits, setBit, subtract, unite } from "./bits.ts"

interface Slots {
  items: Uint32Array
  length: number
}

/** One number for each slot that has one, or several. */
interface Column {
  readonly slots: Slots
  numbers: Float64Array
}

interface Field {
  /** The slots of each value; a value that one vector alone has is very common, and needs no list. */
  readonly values: Map<Scalar, number | Slots>
  readonly numbers: Column
  readonly times: Column
  /** Slots with at least one value; those with several have their number in `counts`. */
  readonly present: Slots
  readonly counts: Column
  readonly nulls: Slots
}

export const GONE = 0xffffffff

/** Longer texts are known by their digest, so that a chapter in the metadata does not lie in memory. */
const TEXT_LENGTH_MAX = 64

const emptySlots = (): Slots => ({ items: new Uint32Array(0), length: 0 })
const emptyColumn = (): Column => ({ slots: emptySlots(), numbers: new Float64Array(0) })

const roomFor = (length: number): number => Math.max(2, Math.ceil(length * 1.5))

const pushSlot = (list: Slots, slot: number): void => {
  if (list.length === list.items.length) {
    const grown = new Uint32Array(roomFor(list.length))
    grown.set(list.items)
    list.items = grown
  }
  list.items[list.length++] = slot
}

const pushNumber = (column: Column, slot: number, value: number): void => {
  pushSlot(column.slots, slot)
  if (column.slots.length > column.numbers.length) {
    const grown = new Float64Array(roomFor(column.numbers.length))
    grown.set(column.numbers)
    column.numbers = grown
  }
  column.numbers[column.slots.length - 1] = value
}

const mark = (bits: Bits, { items, length }: Slots): void => {
  for (let n = 0; n < length; n++) setBit(bits, items[n] ?? 0)
}

const markWhere = (bits: Bits, { slots, numbers }: Column, fits: (value: number) => boolean): void => {
  for (let n = 0; n < slots.length; n++) if (fits(numbers[n] ?? 0)) setBit(bits, slots.items[n] ?? 0)
}

const markPosting = (bits: Bits, posting: number | Slots | undefined): void => {
  if (typeof posting === "number") setBit(bits, posting)
  else if (posting) mark(bits, posting)
}

/** No text of metadata holds a null character, so a digest is no text. */
const keyOf = (value: Scalar): Scalar =>
  typeof value === "string" && value.length > TEXT_LENGTH_MAX
    ? `\0${createHash("sha256").update(value).digest("base64")}`
    : value

const renumberSlots = (list: Slots, slotOf: Uint32Array): Slots => {
  const items = list.items.subarray(0, list.length).map(slot => slotOf[slot] ?? GONE)
  const kept = items.filter(slot => slot !== GONE)
  return { items: kept, length: kept.length }
}

const renumberColumn = ({ slots, numbers }: Column, slotOf: Uint32Array): Column => {
  const column = emptyColumn()
  for (let n = 0; n < slots.length; n++) {
    const slot = slotOf[slots.items[n] ?? 0] ?? GONE
    if (slot !== GONE) pushNumber(column, slot, numbers[n] ?? 0)
  }
  return column
}

const renumberField = (field: Field, slotOf: Uint32Array): Field => {
  const values = new Map<Scalar, number | Slots>()
  for (const [value, posting] of field.values) {
    const list = typeof posting === "number" ? { items: Uint32Array.of(posting), length: 1 } : posting
    const kept = renumberSlots(list, slotOf)
    if (kept.length > 0) values.set(value, kept.length === 1 ? (kept.items[0] ?? 0) : kept)
  }
  return {
    values,
    numbers: renumberColumn(field.numbers, slotOf),
    times: renumberColumn(field.times, slotOf),
    present: renumberSlots(field.present, slotOf),
    counts: renumberColumn(field.counts, slotOf),
    nulls: renumberSlots(field.nulls, slotOf),
  }
}

const addValue = (field: Field, slot: number, value: Scalar): void => {
  const key = keyOf(value)
  const posting = field.values.get(key)
  if (posting === undefined) field.values.set(key, slot)
  else if (typeof posting !== "number") {
    if (posting.items[posting.length - 1] !== slot) pushSlot(posting, slot)
  } else if (posting !== slot) {
    field.values.set(key, { items: Uint32Array.of(posting, slot), length: 2 })
  }
  if (typeof value === "number") pushNumber(field.numbers, slot, value)
  const time = typeof value === "string" ? timeOf(value) : undefined
  if (time !== undefined) pushNumber(field.times, slot, time)
}

const evaluateField = (condition: Extract<Condition, { path: string }>, field: Field, size: number): Bits => {
  const bits = noBits(size)
  switch (condition.kind) {
    case "in":
      for (const value of condition.values) markPosting(bits, field.values.get(keyOf(value)))
      return bits
    case "notIn": {
      const excluded = new Set(condition.values.map(keyOf))
      for (const [value, posting] of field.values) if (!excluded.has(value)) markPosting(bits, posting)
      return bits
    }
    case "numbers":
    case "times":
      markWhere(bits, field[condition.kind], value => isWithin(value, condition.lower, condition.upper))
      return bits
    case "null":
      mark(bits, field.nulls)
      return bits
    case "count":
      return evaluateCount(bits, field, condition, size)
  }
}

const evaluateCount = (
  bits: Bits,
  { present, counts }: Field,
  { min, max }: { min: number; max: number },
  size: number,
): Bits => {
  const fits = (count: number) => count >= min && count <= max
  if (fits(1)) {
    mark(bits, present)
    const several = noBits(size)
    mark(several, counts.slots)
    subtract(bits, several)
  }
  markWhere(bits, counts, fits)
  if (fits(0)) {
    const none = allBits(size)
    const some = noBits(size)
    mark(some, present)
    subtract(none, some)
    unite(bits, none)
  }
  return bits
}

const evaluateAtLeast = (least: number, parts: readonly Bits[], size: number): Bits => {
  const holds = new Uint16Array(size)
  for (const part of parts) {
    eachBit(part, 0, size, slot => {
      holds[slot] = (holds[slot] ?? 0) + 1
    })
  }
  const bits = noBits(size)
  holds.forEach((count, slot) => {
    if (count >= least) setBit(bits, slot)
  })
  return bits
}

const newField = (): Field => ({
  values: new Map(),
  numbers: emptyColumn(),
  times: emptyColumn(),
  present: emptySlots(),
  counts: emptyColumn(),
  nulls: emptySlots(),
})

const NO_FIELD = newField()

export interface MetadataIndex {
  /** Bytes it has come to take, roughly. */
  readonly bytes: number
  /** `metadata` is the text of a JSON object; the slot is higher than any before. */
  add(slot: number, metadata: string): void
  /** The slots below `size` for which the condition holds, those of vectors that are gone included. */
  evaluate(condition: Condition, size: number, slotOfId: (id: string) => number | undefined): Bits
  /** Gives every slot its new number; `GONE` for those to forget. The order stays. */
  renumber(slotOf: Uint32Array): void
}

/** What a value takes in lists, columns and, in most cases, as an entry of its own. */
const BYTES_PER_VALUE = 40

export const createMetadataIndex = (): MetadataIndex => {
  let fields = new Map<string, Field>()
  let bytes = 0

  const evaluate: MetadataIndex["evaluate"] = (condition, size, slotOfId) => {
    const parts = () => ("of" in condition ? condition.of.map(part => evaluate(part, size, slotOfId)) : [])
    switch (condition.kind) {
      case "all": {
        const bits = allBits(size)
        for (const part of parts()) intersect(bits, part)
        return bits
      }
      case "any": {
        const bits = noBits(size)
        for (const part of parts()) unite(bits, part)
        return bits
      }
      case "none": {
        const bits = allBits(size)
        for (const part of parts()) subtract(bits, part)
        return bits
      }
      case "atLeast":
        return evaluateAtLeast(condition.least, parts(), size)
      case "id": {
        const bits = noBits(size)
        for (const id of condition.ids) markPosting(bits, slotOfId(id))
        return bits
      }
      default:
        return evaluateField(condition, fields.get(condition.path) ?? NO_FIELD, size)
    }
  }

  return {
    get bytes() {
      return bytes
    },
    add(slot, metadata) {
      for (const [path, { scalars, count, hasNull }] of flattenMetadata(JSON.parse(metadata))) {
        let field = fields.get(path)
        if (!field) {
          field = newField()
          fields.set(path, field)
        }
        if (count > 0) pushSlot(field.present, slot)
        if (count > 1) pushNumber(field.counts, slot, count)
        if (hasNull) pushSlot(field.nulls, slot)
        for (const value of scalars) addValue(field, slot, value)
        bytes += (scalars.length + 1) * BYTES_PER_VALUE
      }
    },
    evaluate,
    renumber(slotOf) {
      const kept = [...fields].map(([path, field]) => [path, renumberField(field, slotOf)] as const)
      fields = new Map(kept.filter(([, { present, nulls }]) => present.length + nulls.length > 0))
      const live = slotOf.reduce((sum, slot) => sum + (slot === GONE ? 0 : 1), 0)
      bytes = Math.ceil((bytes * live) / Math.max(1, slotOf.length))
    },
  }
}
