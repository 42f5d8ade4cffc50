/** One field of a form: its label, its control, what is wrong with it. */
import type { Schema } from "../model.ts"
import { Prose } from "../ui/text.tsx"
import { labelOf } from "./labels.ts"
import { type Field, isNullable, kindOf, valueSchema } from "./values.ts"

type Typed = string | readonly string[] | null | undefined

interface ControlProps {
  readonly id: string
  readonly name: string
  readonly schema: Schema
  readonly typed: Exclude<Typed, null>
  readonly isRequired: boolean
  readonly describedBy: string
  readonly isWrong: boolean
  readonly onChange: (typed: string | readonly string[]) => void
}

const sketch = (schema: Schema): string => {
  if (schema.type === "array") return "[ … ]"
  const names = Object.keys(schema.properties ?? {}).slice(0, 4)
  return names.length > 0 ? `{ ${names.map(name => `"${name}": …`).join(", ")} }` : "{ … }"
}

const placeholderOf = (schema: Schema): string | undefined => {
  if (schema.default !== undefined && schema.default !== "" && typeof schema.default !== "object")
    return `${String(schema.default)} (default)`
  return schema.format === "date-time" ? "2030-01-31T12:00:00Z" : undefined
}

const Choice = ({ schema, typed, isRequired, onChange, ...rest }: ControlProps) => {
  const words = schema.enum?.map(String) ?? ["true", "false"]
  const byDefault = schema.default === undefined ? "not set" : `${String(schema.default)} (default)`
  return (
    <select
      {...common(rest)}
      required={isRequired}
      value={String(typed ?? "")}
      onChange={event => onChange(event.target.value)}
    >
      <option value="">{isRequired ? "Choose …" : byDefault}</option>
      {words.map(word => (
        <option key={word} value={word}>
          {schema.enum ? word : word === "true" ? "yes" : "no"}
        </option>
      ))}
    </select>
  )
}

const common = ({ id, describedBy, isWrong }: Pick<ControlProps, "id" | "describedBy" | "isWrong">) => ({
  id,
  "aria-describedby": describedBy,
  "aria-invalid": isWrong,
})

const Choices = ({ id, schema, typed, onChange }: ControlProps) => {
  const chosen = Array.isArray(typed) ? typed : []
  const words = schema.items?.enum?.map(String) ?? []
  return (
    <div className="choices">
      {words.map(word => (
        <label key={word}>
          <input
            type="checkbox"
            name={id}
            checked={chosen.includes(word)}
            onChange={event =>
              onChange(event.target.checked ? [...chosen, word] : chosen.filter(other => other !== word))
            }
          />
          {word}
        </label>
      ))}
    </div>
  )
}

const Control = (props: ControlProps) => {
  const { name, schema, typed, isRequired, onChange } = props
  const kind = kindOf(name, schema)
  if (kind === "choice" || kind === "switch") return <Choice {...props} />
  if (kind === "choices") return <Choices {...props} />
  const text = typeof typed === "string" ? typed : ""
  const shared = {
    ...common(props),
    required: isRequired,
    value: text,
    placeholder: placeholderOf(schema),
    spellCheck: false,
  }
  if (kind === "long" || kind === "lines" || kind === "json")
    return (
      <textarea
        {...shared}
        className={kind === "lines" ? undefined : "code"}
        placeholder={kind === "json" ? sketch(schema) : kind === "lines" ? "One a line" : undefined}
        rows={Math.min(14, Math.max(kind === "long" ? 5 : 3, text.split("\n").length))}
        onChange={event => onChange(event.target.value)}
      />
    )
  const isSecret = /password|secret|token/.test(name)
  return (
    <input
      {...shared}
      type={isSecret && /password/.test(name) ? "password" : schema.format === "email" ? "email" : "text"}
      inputMode={kind === "number" ? "decimal" : undefined}
      maxLength={schema.maxLength}
      autoComplete="off"
      onChange={event => onChange(event.target.value)}
    />
  )
}

/** Where the field travels, for those that are not in the body. */
const WHERE: Readonly<Record<string, string>> = { path: "path", query: "query", header: "header", body: "" }

const limitsOf = ({ minimum, maximum, maxLength }: Schema): string | undefined => {
  if (minimum !== undefined && maximum !== undefined)
    return `${minimum.toLocaleString("en")} to ${maximum.toLocaleString("en")}`
  return maxLength !== undefined && maxLength <= 10_000
    ? `at most ${maxLength.toLocaleString("en")} characters`
    : undefined
}

const sentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`)

/** What the contract says of it, and its limits. */
const aboutOf = ({ description = "" }: Schema, schema: Schema): string => {
  const limits = limitsOf(schema)
  const texts = [
    description === "UUID" ? "" : description,
    limits?.replace(/^./, first => first.toUpperCase()) ?? "",
  ]
  return texts
    .filter(text => text !== "")
    .map(sentence)
    .join(" ")
}

export const FieldRow = ({
  field: { part, name, schema: given, isRequired },
  typed,
  wrong,
  onChange,
}: {
  readonly field: Field
  readonly typed: Typed
  readonly wrong: string | undefined
  readonly onChange: (typed: string | readonly string[] | null) => void
}) => {
  const schema = valueSchema(given)
  const id = `field-${part}-${name}`
  const isGroup = kindOf(name, given) === "choices"
  const label = (
    <>
      {labelOf(name)}
      {isRequired && <span className="required"> required</span>}
      <code className="field-name">{WHERE[part] ? `${name} in ${WHERE[part]}` : name}</code>
    </>
  )
  const inner = (
    <>
      {typed !== null && (
        <Control
          {...{ id, name, schema, typed, isRequired, onChange }}
          describedBy={`${id}-about`}
          isWrong={wrong !== undefined}
        />
      )}
      {isNullable(given) && part === "body" && (
        <label className="tick">
          <input
            type="checkbox"
            checked={typed === null}
            onChange={event => onChange(event.target.checked ? null : "")}
          />
          Set to null
        </label>
      )}
      <p className="about" id={`${id}-about`}>
        {wrong !== undefined && <strong className="wrong">{wrong} </strong>}
        <Prose text={aboutOf(given, schema)} />
      </p>
    </>
  )
  return isGroup ? (
    <fieldset className="field">
      <legend>{label}</legend>
      {inner}
    </fieldset>
  ) : (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {inner}
    </div>
  )
}
