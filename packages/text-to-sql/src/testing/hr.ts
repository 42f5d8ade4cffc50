import { type EvaluationSet, pairs } from "./evaluation.ts"

const setup = `
CREATE TABLE departments (id int PRIMARY KEY, name text NOT NULL, location text NOT NULL, budget numeric(12,2));
CREATE TABLE employees (id int PRIMARY KEY, first_name text NOT NULL, last_name text NOT NULL, email text,
  hire_date date NOT NULL, birth_date date NOT NULL, salary numeric(10,2) NOT NULL, job_title text NOT NULL,
  is_remote boolean NOT NULL, department_id int REFERENCES departments, manager_id int REFERENCES employees);
CREATE TABLE projects (id int PRIMARY KEY, title text NOT NULL, budget numeric(12,2) NOT NULL, start_date date NOT NULL,
  end_date date, department_id int NOT NULL REFERENCES departments);
CREATE TABLE assignments (employee_id int REFERENCES employees, project_id int REFERENCES projects, hours int NOT NULL,
  PRIMARY KEY (employee_id, project_id));
CREATE TABLE leave_requests (id int PRIMARY KEY, employee_id int NOT NULL REFERENCES employees, kind text NOT NULL,
  status text NOT NULL, start_date date NOT NULL, days int NOT NULL);
INSERT INTO departments VALUES (1, 'Engineering', 'Berlin', 900000), (2, 'Sales', 'London', 400000),
  (3, 'Marketing', 'London', NULL), (4, 'Finance', 'Zurich', 250000), (5, 'Legal', 'Zurich', 90000);
INSERT INTO employees SELECT i,
  (ARRAY['Anna','Ben','Chloe','Dan','Ella','Finn','Gina','Hans','Iris','Jon','Kate','Leo','Mia','Nils','Olga','Paul','Rosa','Sven','Tina','Uwe'])[i],
  (ARRAY['Meyer','Clark','Dubois','Evans','Ferri','Gruber','Hall','Ivers','Jansen','Kelly'])[1 + i % 10],
  CASE WHEN i % 6 = 0 THEN NULL ELSE 'e' || i || '@corp.test' END,
  date '2014-02-01' + i * 187, date '1962-05-20' + i * 610, 38000 + (i * 7919) % 61000,
  CASE WHEN i <= 4 THEN 'Manager' WHEN i % 3 = 0 THEN 'Engineer' WHEN i % 3 = 1 THEN 'Analyst' ELSE 'Account Executive' END,
  i % 3 = 1, CASE WHEN i = 20 THEN NULL ELSE 1 + (i * i) % 4 END, CASE WHEN i <= 2 THEN NULL ELSE 1 + i % 4 END
  FROM generate_series(1, 20) i;
INSERT INTO projects SELECT i, (ARRAY['Apollo','Borealis','Comet','Delta','Eclipse','Fusion'])[i], 20000 * i + 5000,
  date '2022-09-01' + i * 95, CASE WHEN i % 2 = 0 THEN date '2023-06-01' + i * 95 END, 1 + i % 3 FROM generate_series(1, 6) i;
INSERT INTO assignments SELECT i, 1 + (i * k) % 5, 10 + (i * 13 + k * 7) % 90 FROM generate_series(1, 16) i, generate_series(1, 2) k
  ON CONFLICT DO NOTHING;
INSERT INTO leave_requests SELECT i, 1 + (i * 7) % 15, (ARRAY['vacation','sick','parental'])[1 + i % 3],
  (ARRAY['approved','rejected','pending','approved'])[1 + i % 4], date '2023-08-01' + i * 9, 1 + (i * 5) % 14 FROM generate_series(1, 36) i;
`

const ed = "employees e JOIN departments d ON d.id = e.department_id"

export const hr: EvaluationSet = {
  name: "hr",
  setup,
  pairs: pairs([
    ["list", "list all departments", "SELECT * FROM departments"],
    [
      "list",
      "show the first name, last name and salary of all employees",
      "SELECT first_name, last_name, salary FROM employees",
    ],
    ["list", "what job titles are there?", "SELECT DISTINCT job_title FROM employees"],
    ["filter", "employees in the Sales department", `SELECT e.* FROM ${ed} WHERE d.name = 'Sales'`],
    ["filter", "employees earning more than 80000", "SELECT * FROM employees WHERE salary > 80000"],
    [
      "filter",
      "employees with a salary between 50,000 and 70,000",
      "SELECT * FROM employees WHERE salary BETWEEN 50000 AND 70000",
    ],
    ["filter", "remote employees", "SELECT * FROM employees WHERE is_remote"],
    ["filter", "employees who are not remote", "SELECT * FROM employees WHERE NOT is_remote"],
    [
      "filter",
      "engineers who earn at least 60k",
      "SELECT * FROM employees WHERE job_title = 'Engineer' AND salary >= 60000",
    ],
    ["filter", "employees without a manager", "SELECT * FROM employees WHERE manager_id IS NULL"],
    ["filter", "employees with no email", "SELECT * FROM employees WHERE email IS NULL"],
    ["filter", "departments located in London", "SELECT * FROM departments WHERE location = 'London'"],
    ["filter", "projects with a budget over 80000", "SELECT * FROM projects WHERE budget > 80000"],
    ["filter", "pending leave requests", "SELECT * FROM leave_requests WHERE status = 'pending'"],
    [
      "filter",
      "approved sick leave requests longer than 5 days",
      "SELECT * FROM leave_requests WHERE status = 'approved' AND kind = 'sick' AND days > 5",
    ],
    ["filter", "staff older than 50", "SELECT * FROM employees WHERE birth_date <= '1973-06-15'"],
    [
      "filter",
      "employees paid above average",
      "SELECT * FROM employees WHERE salary > (SELECT avg(salary) FROM employees)",
    ],
    [
      "filter",
      "employees who earn more than their manager",
      "SELECT e.* FROM employees e JOIN employees m ON m.id = e.manager_id WHERE e.salary > m.salary",
    ],
    [
      "filter",
      "employees whose last name starts with G",
      "SELECT * FROM employees WHERE last_name LIKE 'G%'",
    ],
    ["filter", "projects that have not ended", "SELECT * FROM projects WHERE end_date IS NULL"],
    [
      "count",
      "how many people work in Engineering?",
      `SELECT count(*) FROM ${ed} WHERE d.name = 'Engineering'`,
    ],
    ["count", "how many employees do we have?", "SELECT count(*) FROM employees"],
    [
      "count",
      "how many remote analysts are there?",
      "SELECT count(*) FROM employees WHERE is_remote AND job_title = 'Analyst'",
    ],
    [
      "count",
      "count the rejected leave requests",
      "SELECT count(*) FROM leave_requests WHERE status = 'rejected'",
    ],
    ["aggregate", "what is the average salary?", "SELECT avg(salary) FROM employees"],
    [
      "aggregate",
      "average salary in the Finance department",
      `SELECT avg(salary) FROM ${ed} WHERE d.name = 'Finance'`,
    ],
    [
      "aggregate",
      "what is the median salary of engineers?",
      "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY salary) FROM employees WHERE job_title = 'Engineer'",
    ],
    ["aggregate", "total budget of all projects", "SELECT sum(budget) FROM projects"],
    ["aggregate", "minimum and maximum salary", "SELECT min(salary), max(salary) FROM employees"],
    [
      "aggregate",
      "average age of employees",
      "SELECT avg(extract(year FROM age(date '2024-06-15', birth_date))) FROM employees",
    ],
    [
      "aggregate",
      "how many vacation days were approved?",
      "SELECT sum(days) FROM leave_requests WHERE kind = 'vacation' AND status = 'approved'",
    ],
    ["group", "average salary per department", `SELECT d.name, avg(salary) FROM ${ed} GROUP BY d.id`],
    ["group", "number of employees by job title", "SELECT job_title, count(*) FROM employees GROUP BY 1"],
    ["group", "headcount of employees by location", `SELECT d.location, count(*) FROM ${ed} GROUP BY 1`],
    [
      "group",
      "total hours per project",
      "SELECT p.title, sum(hours) FROM assignments a JOIN projects p ON p.id = a.project_id GROUP BY p.id",
    ],
    [
      "group",
      "how many employees does each manager have?",
      "SELECT m.first_name, m.last_name, count(*) FROM employees e JOIN employees m ON m.id = e.manager_id GROUP BY m.id",
    ],
    [
      "group",
      "number of employees hired per year",
      "SELECT date_trunc('year', hire_date)::date, count(*) FROM employees GROUP BY 1",
    ],
    [
      "group",
      "leave requests by kind and status",
      "SELECT kind, status, count(*) FROM leave_requests GROUP BY 1, 2",
    ],
    [
      "group",
      "average number of employees per department",
      "SELECT avg(n) FROM (SELECT count(*) n FROM employees WHERE department_id IS NOT NULL GROUP BY department_id) x",
    ],
    ["rank", "who is the highest paid employee?", "SELECT * FROM employees ORDER BY salary DESC LIMIT 1"],
    ["rank", "five lowest paid employees", "SELECT * FROM employees ORDER BY salary LIMIT 5"],
    ["rank", "oldest employee", "SELECT * FROM employees ORDER BY birth_date LIMIT 1"],
    ["rank", "youngest 3 employees", "SELECT * FROM employees ORDER BY birth_date DESC LIMIT 3"],
    [
      "rank",
      "department with the most employees",
      `SELECT d.name FROM ${ed} GROUP BY d.id ORDER BY count(*) DESC LIMIT 1`,
    ],
    ["rank", "most recently hired employee", "SELECT * FROM employees ORDER BY hire_date DESC LIMIT 1"],
    ["rank", "which project has the largest budget?", "SELECT * FROM projects ORDER BY budget DESC LIMIT 1"],
    [
      "rank",
      "employees ordered by hire date, newest first",
      "SELECT * FROM employees ORDER BY hire_date DESC",
    ],
    [
      "rank",
      "which department has the highest average salary?",
      `SELECT d.name FROM ${ed} GROUP BY d.id ORDER BY avg(salary) DESC LIMIT 1`,
    ],
    [
      "first per",
      "highest paid employee in each department",
      "SELECT * FROM (SELECT e.*, rank() OVER (PARTITION BY department_id ORDER BY salary DESC) r FROM employees e WHERE department_id IS NOT NULL) x WHERE r = 1",
    ],
    [
      "first per",
      "the most recent leave request of each employee",
      "SELECT DISTINCT ON (employee_id) * FROM leave_requests ORDER BY employee_id, start_date DESC",
    ],
    ["date", "employees hired after 2020", "SELECT * FROM employees WHERE hire_date >= '2021-01-01'"],
    [
      "date",
      "employees hired between 2018 and 2020",
      "SELECT * FROM employees WHERE hire_date >= '2018-01-01' AND hire_date < '2021-01-01'",
    ],
    ["date", "employees born before 1970", "SELECT * FROM employees WHERE birth_date < '1970-01-01'"],
    [
      "date",
      "employees hired more than 8 years ago",
      "SELECT * FROM employees WHERE hire_date < '2016-06-15'",
    ],
    [
      "date",
      "projects started in 2023",
      "SELECT * FROM projects WHERE start_date >= '2023-01-01' AND start_date < '2024-01-01'",
    ],
    [
      "date",
      "leave requests starting in March 2024",
      "SELECT * FROM leave_requests WHERE start_date >= '2024-03-01' AND start_date < '2024-04-01'",
    ],
    [
      "existence",
      "departments without employees",
      "SELECT * FROM departments d WHERE NOT EXISTS (SELECT FROM employees e WHERE e.department_id = d.id)",
    ],
    [
      "existence",
      "employees not assigned to any project",
      "SELECT * FROM employees e WHERE NOT EXISTS (SELECT FROM assignments a WHERE a.employee_id = e.id)",
    ],
    [
      "existence",
      "employees who work on the Apollo project",
      "SELECT * FROM employees e WHERE EXISTS (SELECT FROM assignments a JOIN projects p ON p.id = a.project_id WHERE a.employee_id = e.id AND p.title = 'Apollo')",
    ],
    [
      "existence",
      "employees who have never requested leave",
      "SELECT * FROM employees e WHERE NOT EXISTS (SELECT FROM leave_requests l WHERE l.employee_id = e.id)",
    ],
    [
      "having",
      "departments with more than 4 employees",
      "SELECT * FROM departments d WHERE (SELECT count(*) FROM employees e WHERE e.department_id = d.id) > 4",
    ],
    [
      "having",
      "departments with an average salary above 65000",
      "SELECT * FROM departments d WHERE (SELECT avg(salary) FROM employees e WHERE e.department_id = d.id) > 65000",
    ],
    [
      "having",
      "employees assigned to at least two projects",
      "SELECT * FROM employees e WHERE (SELECT count(*) FROM assignments a WHERE a.employee_id = e.id) >= 2",
    ],
    [
      "percentage",
      "what percentage of employees are remote?",
      "SELECT round(100.0 * count(*) FILTER (WHERE is_remote) / count(*), 2) FROM employees",
    ],
    [
      "percentage",
      "percentage of remote employees per department",
      `SELECT d.name, round(100.0 * count(*) FILTER (WHERE is_remote) / count(*), 2) FROM ${ed} GROUP BY d.id`,
    ],
    [
      "join",
      "employees and their managers",
      "SELECT e.*, m.first_name, m.last_name FROM employees e LEFT JOIN employees m ON m.id = e.manager_id",
    ],
    [
      "join",
      "list employees with their department name",
      "SELECT e.*, d.name FROM employees e LEFT JOIN departments d ON d.id = e.department_id",
    ],
    [
      "join",
      "projects of the Sales department",
      "SELECT p.* FROM projects p JOIN departments d ON d.id = p.department_id WHERE d.name = 'Sales'",
    ],
    [
      "comparison",
      "compare the number of leave requests in 2023 and 2024",
      "SELECT count(*) FILTER (WHERE start_date < '2024-01-01'), count(*) FILTER (WHERE start_date >= '2024-01-01') FROM leave_requests",
    ],
  ]),
}
