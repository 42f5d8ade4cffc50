/** From a question to tokens, and from a word to the forms it is compared by. English only. */

export interface Token {
  /** What the grammar reads: lower case, number words as digits, quoted text in double quotes. */
  readonly text: string
  /** As the question has it; of quoted text, without the quotes. */
  readonly surface: string
  readonly kind: "word" | "number" | "quoted" | "date" | "symbol"
  readonly singular: string
  readonly stem: string
  /** The head of the word's group of synonyms, else its stem. */
  readonly canonical: string
}

const irregular: Readonly<Record<string, string>> = {
  people: "person",
  children: "child",
  men: "man",
  women: "woman",
  staffs: "staff",
  data: "data",
  series: "series",
  news: "news",
  news_item: "news_item",
  status: "status",
  bought: "buy",
  sold: "sell",
  paid: "pay",
  spent: "spend",
  taught: "teach",
  took: "take",
  taken: "take",
  written: "write",
  wrote: "write",
  held: "hold",
  made: "make",
  left: "leave",
  grew: "grow",
  won: "win",
  sent: "send",
  built: "build",
}

export const singularOf = (word: string): string => {
  const known = irregular[word]
  if (known) return known
  if (word.length < 4 || /(?:ss|us|is)$/.test(word)) return word
  if (word.endsWith("ies")) return `${word.slice(0, -3)}y`
  if (/(?:sses|shes|ches|xes|zes|uses)$/.test(word) && !/(?:causes|houses)$/.test(word))
    return word.slice(0, -2)
  return word.endsWith("s") ? word.slice(0, -1) : word
}

/** Cuts endings so that `hired`, `hire` and `hiring`, or `enrolled` and `enrollment`, meet. */
export const stemOf = (word: string): string => {
  let stem = singularOf(word)
  if (stem.length > 5 && stem.endsWith("ing")) stem = stem.slice(0, -3)
  else if (stem.length > 4 && stem.endsWith("ied")) stem = `${stem.slice(0, -3)}y`
  else if (stem.length > 4 && stem.endsWith("ed")) stem = stem.slice(0, -2)
  else if (stem.length > 7 && stem.endsWith("ment")) stem = stem.slice(0, -4)
  if (stem.length > 3 && stem.endsWith("e")) stem = stem.slice(0, -1)
  return stem.replace(/([bdfglmnprst])\1$/, "$1")
}

/** Words that name the same thing in most schemas. The first of a group stands for all. */
const groups = [
  "customer client buyer shopper purchaser",
  "employee staff worker personnel emp",
  "order purchase buy ord",
  "product item article goods merchandise prod",
  "teacher instructor professor lecturer tutor teach",
  "student pupil learner",
  "course class",
  "sensor device",
  "reading measurement measure observation",
  "salary wage pay compensation earn earning income",
  "price cost",
  "department division dept",
  "location place",
  "manager boss supervisor",
  "grade mark score",
  "phone telephone",
  "email mail",
  "birth born birthday dob",
  "hire recruit employ",
  "create register signup join",
  "quantity qty",
  "stock inventory",
  "city town",
  "country nation",
  "temperature temp",
  "name called named title",
  "review feedback",
  "enroll enrol attend",
  "supplier vendor",
  "shipment delivery",
  "revenue sale turnover",
  "job position",
  "room classroom",
  "absence absent",
  "vehicle car",
  "address addr",
  "amount amt",
  "number num",
]

const headOf = new Map(
  groups.flatMap(group => {
    const words = group.split(" ").map(stemOf)
    return words.map(word => [word, words[0] ?? word] as const)
  }),
)

export const canonicalOf = (word: string): string => {
  const stem = stemOf(word)
  return headOf.get(stem) ?? stem
}

const small: Readonly<Record<string, number>> = Object.fromEntries(
  (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen " +
    "sixteen seventeen eighteen nineteen twenty"
  )
    .split(" ")
    .map((word, index) => [word, index]),
)
const tens = ["thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
for (const [index, word] of tens.entries()) Object.assign(small, { [word]: (index + 3) * 10 })
const scales: Readonly<Record<string, number>> = {
  hundred: 100,
  thousand: 1000,
  k: 1000,
  million: 1e6,
  m: 1e6,
  billion: 1e9,
  dozen: 12,
}

const PATTERN =
  /"([^"]{1,200})"|“([^”]{1,200})”|(?<=^|[\s(=,])'([^']{1,200})'(?=$|[\s).,?!;])|(\d{4}-\d{2}(?:-\d{2})?)(?![\d-])|(\d[\d,]*(?:\.\d+)?|\.\d+)(?:(k|m)(?![a-z]))?|([\p{L}_][\p{L}\p{N}_]*(?:['’-][\p{L}\p{N}_]+)*)|(>=|<=|!=|<>|=|<|>|%|\$|€|£|°|,)/giu

const negated = /^(do|does|did|have|has|had|is|are|was|were|ca|could|would|should|wo)n['’]t$/

const tokenOf = (kind: Token["kind"], surface: string, text: string): Token => ({
  kind,
  surface,
  text,
  singular: singularOf(text),
  stem: stemOf(text),
  canonical: canonicalOf(text),
})

const wordsOf = (surface: string): Token[] => {
  const lower = surface.toLowerCase()
  if (lower === "cannot" || negated.test(lower)) return [tokenOf("word", surface, "not")]
  const bare = lower.replace(/['’](s|re|ve|ll|d|m)?$/, "")
  return bare.split(/[-_’']/).flatMap((part, index) => {
    const original = surface.split(/[-_’']/)[index] ?? part
    return part ? [tokenOf("word", original, part)] : []
  })
}

/** Joins `twenty five`, `2 thousand` and `3 dozen` into one number. `one` alone stays a word: it is often a pronoun. */
const joinNumbers = (tokens: readonly Token[]): Token[] => {
  const joined: Token[] = []
  for (let index = 0; index < tokens.length; index++) {
    const token = tokens[index]
    if (!token) continue
    const start = token.kind === "number" ? Number(token.text) : small[token.text]
    if (start === undefined || Number.isNaN(start)) {
      joined.push(token)
      continue
    }
    let value = start
    let used = 1
    for (;;) {
      const next = tokens[index + used]?.text ?? ""
      const scale = scales[next]
      const unit = small[next]
      if (scale !== undefined && next.length > 1) value *= scale
      else if (token.kind === "word" && unit !== undefined && unit < 10 && value >= 20 && value % 10 === 0)
        value += unit
      else break
      used++
    }
    if (
      token.text === "one" &&
      used === 1 &&
      !/^(?:least|most|than|exactly|only)$/.test(tokens[index - 1]?.text ?? "")
    ) {
      joined.push(token)
      continue
    }
    const surface = tokens
      .slice(index, index + used)
      .map(each => each.surface)
      .join(" ")
    joined.push(tokenOf("number", surface, String(value)))
    index += used - 1
  }
  return joined
}

export const tokenize = (question: string): Token[] => {
  const tokens: Token[] = []
  for (const match of question.normalize("NFC").matchAll(PATTERN)) {
    const [whole, double, curly, single, date, number, scale, word, symbol] = match
    const quoted = double ?? curly ?? single
    if (quoted !== undefined)
      tokens.push(tokenOf("quoted", quoted.trim(), `"${quoted.trim().toLowerCase()}"`))
    else if (date) tokens.push(tokenOf("date", date, date))
    else if (number) {
      const value = Number(number.replaceAll(",", "")) * (scales[scale?.toLowerCase() ?? ""] ?? 1)
      tokens.push(tokenOf("number", whole, String(value)))
    } else if (word) tokens.push(...wordsOf(word))
    else if (symbol) tokens.push(tokenOf("symbol", symbol, symbol))
  }
  return joinNumbers(tokens)
}

/** Splits an identifier: `unitPrice`, `unit_price` and `UnitPrice` are the same two words. */
export const partsOf = (identifier: string): string[] =>
  identifier
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .split(/[^\p{L}\p{N}]+/u)
    .map(part => part.toLowerCase())
    .filter(part => part !== "" && part !== "tbl")

/** Words that carry no condition of their own, so that an answer may leave them out. */
const silent = new Set(
  (
    "a an the of to in on at for from by with and or that which who whom whose what where when is are was were be " +
    "been being has have had do does did all any every me us my our we i you your please can could would will shall " +
    "show list give get find display tell return fetch select see view want need like there their its it his her they " +
    "them this these those so as exist exists ever made make placed " +
    "place record records row rows entry entries information info data details detail about name " +
    "how have one ones if it's let know look lookup compute calculate determine provide " +
    "their owned belong belonging belongs come comes coming work works working live lives living based located , $ € £ " +
    "euro dollar pound usd eur gbp"
  )
    .split(" ")
    .flatMap(word => [word, singularOf(word)]),
)

export const isSilent = (token: Token): boolean => silent.has(token.text) || silent.has(token.singular)
