/** Which rows are shown: conditions that must all hold. They are in the address. */
import { type FormEvent, useState } from "react"
import { type Filter, type Operator, operators, type Table } from "./sql.ts"

const needsValue = (operator: Operator): boolean => operator !== "null" && operator !== "not null"

export const Filters = ({
  table,
  filters,
  onChange,
  onInsert,
}: {
  readonly table: Table
  readonly filters: readonly Filter[]
  readonly onChange: (filters: readonly Filter[]) => void
  readonly onInsert: () => void
}) => {
  const [column, setColumn] = useState(table.columns[0]?.name ?? "")
  const [operator, setOperator] = useState<Operator>("=")
  const [value, setValue] = useState("")
  const add = (event: FormEvent) => {
    event.preventDefault()
    onChange([...filters, { column, operator, value: needsValue(operator) ? value : "" }])
    setValue("")
  }
  return (
    <>
      <form className="line filter" aria-label="Filter" onSubmit={add}>
        <select
          className="narrow"
          aria-label="Column"
          value={column}
          onChange={event => setColumn(event.target.value)}
        >
          {table.columns.map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </select>
        <select
          className="narrow"
          aria-label="Condition"
          value={operator}
          onChange={event => setOperator(event.target.value as Operator)}
        >
          {Object.entries(operators).map(([name, text]) => (
            <option key={name} value={name}>
              {text}
            </option>
          ))}
        </select>
        {needsValue(operator) && (
          <input aria-label="Value" value={value} onChange={event => setValue(event.target.value)} />
        )}
        <button type="submit" className="quiet">
          Filter
        </button>
        <button type="button" onClick={onInsert}>
          New row
        </button>
      </form>
      {filters.length > 0 && (
        <ul className="chips" aria-label="Filters">
          {filters.map((filter, at) => (
            <li key={`${filter.column} ${filter.operator} ${filter.value}`}>
              <button
                type="button"
                className="quiet small"
                title="Take this filter away"
                onClick={() => onChange(filters.filter((_, other) => other !== at))}
              >
                {filter.column} {operators[filter.operator]} {filter.value} <span aria-hidden="true">×</span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </>
  )
}
