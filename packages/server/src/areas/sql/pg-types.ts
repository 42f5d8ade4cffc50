/** What the OIDs of types mean, and how values become JSON. */
import { LRUCache } from "lru-cache"
import type pg from "pg"
import { exactNumber, parseJson } from "../../kernel/exact-json.ts"
import { type ArrayValue, parseArray } from "./array-text.ts"

export interface TypeInfo {
  /** As `pg_type.typname` has it: `int4`, and `_int4` for its array. */
  readonly name: string
  /** OID of the elements of an array; 0 for other types. */
  readonly element: number
  readonly delimiter: string
}

/** OID, name and OID of the array, from `src/include/catalog/pg_type.dat`; they never change. */
const BUILT_IN =
  "16 bool 1000;17 bytea 1001;18 char 1002;19 name 1003;20 int8 1016;21 int2 1005;22 int2vector 1006;" +
  "23 int4 1007;24 regproc 1008;25 text 1009;26 oid 1028;27 tid 1010;28 xid 1011;29 cid 1012;30 oidvector 1013;" +
  "114 json 199;142 xml 143;600 point 1017;601 lseg 1018;602 path 1019;604 polygon 1027;628 line 629;650 cidr 651;" +
  "700 float4 1021;701 float8 1022;705 unknown 0;718 circle 719;774 macaddr8 775;790 money 791;829 macaddr 1040;" +
  "869 inet 1041;1033 aclitem 1034;1042 bpchar 1014;1043 varchar 1015;1082 date 1182;1083 time 1183;" +
  "1114 timestamp 1115;1184 timestamptz 1185;1186 interval 1187;1266 timetz 1270;1560 bit 1561;1562 varbit 1563;" +
  "1700 numeric 1231;1790 refcursor 2201;2202 regprocedure 2207;2205 regclass 2210;2206 regtype 2211;" +
  "2249 record 2287;2278 void 0;2950 uuid 2951;3220 pg_lsn 3221;3614 tsvector 3643;3615 tsquery 3645;" +
  "3802 jsonb 3807;3904 int4range 3905;3906 numrange 3907;3908 tsrange 3909;3910 tstzrange 3911;" +
  "3912 daterange 3913;3926 int8range 3927;4072 jsonpath 4073;4089 regnamespace 4090;4096 regrole 4097;" +
  "4451 int4multirange 6150;4532 nummultirange 6151;5069 xid8 271"

const scalar = (name: string): TypeInfo => ({ name, element: 0, delimiter: "," })

const readBuiltIn = (): Map<number, TypeInfo> => {
  const types = new Map<number, TypeInfo>()
  for (const entry of BUILT_IN.split(";")) {
    const [oid, name = "", array] = entry.split(" ")
    types.set(Number(oid), scalar(name))
    if (array !== "0") types.set(Number(array), { name: `_${name}`, element: Number(oid), delimiter: "," })
  }
  // The one type whose own text has commas between its numbers.
  types.set(603, scalar("box"))
  types.set(1020, { name: "_box", element: 603, delimiter: ";" })
  return types
}

const builtIn: ReadonlyMap<number, TypeInfo> = readBuiltIn()
const UNKNOWN = scalar("unknown")

export interface Types {
  get(oid: number): TypeInfo
  /** Whether `get` knows the OID without asking the server. */
  has(oid: number): boolean
}

/** Types that tenants made are asked for again after this time: they can be renamed. */
const KNOWN_MS = 60_000
const VOLUMES_MAX = 1_000
const TYPES_MAX = 1_000

export interface TypeCatalog {
  of(volumeId: string): Types
  /** Asks the session's database for those of the OIDs that are not known. */
  load(volumeId: string, client: pg.ClientBase, oids: readonly number[]): Promise<void>
}

const LOOKUP = `
  SELECT oid::pg_catalog.int8, typname, typdelim,
    CASE WHEN typoutput OPERATOR(pg_catalog.=) 'pg_catalog.array_out'::pg_catalog.regproc
      THEN typelem ELSE 0::pg_catalog.oid END::pg_catalog.int8
  FROM pg_catalog.pg_type WHERE oid OPERATOR(pg_catalog.=) ANY ($1::pg_catalog.oid[])`

export const createTypeCatalog = (): TypeCatalog => {
  const volumes = new LRUCache<string, Map<number, TypeInfo>>({ max: VOLUMES_MAX, ttl: KNOWN_MS })

  const of = (volumeId: string): Types => {
    const own = volumes.get(volumeId)
    return {
      get: oid => builtIn.get(oid) ?? own?.get(oid) ?? UNKNOWN,
      has: oid => builtIn.has(oid) || own?.has(oid) === true,
    }
  }

  return {
    of,
    async load(volumeId, client, oids) {
      const asked = async (wanted: readonly number[]): Promise<void> => {
        const { has } = of(volumeId)
        const missing = [...new Set(wanted)].filter(oid => oid !== 0 && !has(oid))
        if (missing.length === 0) return
        const values = [`{${missing.join(",")}}`]
        const { rows } = await client.query<string[]>({ text: LOOKUP, values, rowMode: "array" })
        const own = volumes.get(volumeId) ?? new Map<number, TypeInfo>()
        if (own.size > TYPES_MAX) own.clear()
        for (const oid of missing) own.set(oid, UNKNOWN)
        const elements: number[] = []
        for (const [oid, name = "", delimiter = ",", element] of rows) {
          own.set(Number(oid), { name, delimiter, element: Number(element) })
          elements.push(Number(element))
        }
        volumes.set(volumeId, own)
        await asked(elements)
      }
      await asked(oids)
    },
  }
}

type Convert = (text: string) => unknown

const asIs: Convert = text => text

const toNumber: Convert = text => {
  const value = Number(text)
  if (Object.is(value, -0)) return exactNumber(text)
  return Number.isFinite(value) ? value : text
}

const toJson: Convert = text => {
  try {
    return parseJson(text)
  } catch {
    return text
  }
}

const TIMESTAMPTZ = /^(\d{4,}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?)([+-]\d\d)(:\d\d)?$/

/** RFC 3339. What it cannot say (infinity, years before Christ, offsets of seconds) stays as the server wrote it. */
const toIsoTime: Convert = text => {
  const parts = TIMESTAMPTZ.exec(text)
  if (!parts) return text
  const [, date, time, hours, minutes = ":00"] = parts
  const offset = `${hours}${minutes}`
  return `${date}T${time}${offset === "+00:00" ? "Z" : offset}`
}

const converters: ReadonlyMap<string, Convert> = new Map<string, Convert>([
  ["bool", text => text === "t"],
  ["int2", toNumber],
  ["int4", toNumber],
  ["oid", toNumber],
  ["float4", toNumber],
  ["float8", toNumber],
  ["json", toJson],
  ["jsonb", toJson],
  ["timestamptz", toIsoTime],
])

const toArray = (delimiter: string, convert: Convert): Convert => {
  const each = (value: ArrayValue): unknown => {
    if (value === null) return null
    return typeof value === "string" ? convert(value) : value.map(each)
  }
  return text => {
    try {
      return parseArray(text, delimiter).map(each)
    } catch {
      return text
    }
  }
}

const FIRST_TENANT_OID = 16_384

/**
 * How values of the type become JSON: numbers of up to 32 bits and floats as numbers (NaN and the infinities as
 * strings), booleans, JSON as JSON, arrays as lists, timestamptz in RFC 3339; all else as PostgreSQL's text, int8 and
 * numeric too, because a JSON number cannot hold them.
 */
export const converterOf = (types: Types, oid: number): Convert => {
  const { name, element, delimiter } = types.get(oid)
  if (element !== 0) return toArray(delimiter, converterOf(types, element))
  // A tenant's type may bear a built-in one's name.
  return oid < FIRST_TENANT_OID ? (converters.get(name) ?? asIs) : asIs
}
