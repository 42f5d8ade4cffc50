-- Singular names with prefixed keys; an employee has a manager; a department has a head; a request has an approver.
CREATE TABLE department (dept_id int PRIMARY KEY, dept_name text NOT NULL, location text NOT NULL, budget numeric(12,2) NOT NULL, head_id int);
CREATE TABLE employee (emp_id int PRIMARY KEY, first_name text NOT NULL, last_name text NOT NULL, job_title text NOT NULL, salary int NOT NULL, bonus int,
  hired_on date NOT NULL, left_on date, remote boolean NOT NULL, dept_id int NOT NULL REFERENCES department, manager_id int REFERENCES employee);
ALTER TABLE department ADD FOREIGN KEY (head_id) REFERENCES employee;
CREATE TABLE project (project_id int PRIMARY KEY, title text NOT NULL, starts_on date NOT NULL, ends_on date, dept_id int NOT NULL REFERENCES department);
CREATE TABLE assignment (emp_id int NOT NULL REFERENCES employee, project_id int NOT NULL REFERENCES project, role text NOT NULL, hours int NOT NULL, PRIMARY KEY (emp_id, project_id));
CREATE TABLE leave_request (request_id int PRIMARY KEY, emp_id int NOT NULL REFERENCES employee, approver_id int REFERENCES employee, kind text NOT NULL,
  first_day date NOT NULL, last_day date NOT NULL, state text NOT NULL);
CREATE TABLE training (training_id int PRIMARY KEY, emp_id int NOT NULL REFERENCES employee, course text NOT NULL, passed boolean NOT NULL, score int, taken_on date NOT NULL);
INSERT INTO department VALUES (1, 'Engineering', 'Oslo', 900000, NULL), (2, 'Sales', 'Bergen', 500000, NULL), (3, 'Finance', 'Oslo', 300000, NULL), (4, 'Support', 'Tromso', 250000, NULL), (5, 'Legal', 'Oslo', 120000, NULL);
INSERT INTO employee SELECT i, (ARRAY['Aksel','Berit','Carl','Dina','Emil','Frida','Geir','Hanna','Ivar','Julie','Knut','Liv','Magnus','Nora','Ola','Petra','Rolf','Siri'])[i],
  (ARRAY['Berg','Dahl','Eide','Foss','Gran','Haug','Iversen','Jensen','Klev','Lund','Moe','Nes','Olsen','Paulsen','Ruud','Sand','Tveit','Vik'])[i],
  (ARRAY['Engineer','Analyst','Manager','Engineer','Sales Rep','Accountant'])[1 + i % 6], 41000 + (i * 7919) % 52000,
  CASE WHEN i % 3 = 0 THEN 1000 + i * 250 END, date '2016-01-15' + i * 160, CASE WHEN i IN (4, 11, 16) THEN date '2024-01-10' + i * 7 END, i % 4 = 1,
  (ARRAY[1,1,1,2,2,3,4,1,2,3,4,1,1,2,4,2,3,1])[i], NULL FROM generate_series(1, 18) i;
UPDATE employee SET manager_id = CASE WHEN emp_id IN (1, 4) THEN NULL WHEN emp_id < 9 THEN 1 WHEN emp_id < 13 THEN 4 ELSE 8 END;
UPDATE department SET head_id = (ARRAY[1,4,6,7,NULL])[dept_id];
INSERT INTO project SELECT i, (ARRAY['Apollo','Borealis','Cobalt','Delta','Ember','Fjord','Glacier'])[i], date '2022-05-01' + i * 95, CASE WHEN i % 2 = 1 THEN date '2023-01-31' + i * 90 END,
  (ARRAY[1,1,2,3,1,4,2])[i] FROM generate_series(1, 7) i;
INSERT INTO assignment SELECT 1 + (i * i) % 16, 1 + (i * 5) % 6, (ARRAY['lead','member','reviewer'])[1 + i % 3], 20 + (i * 31) % 170 FROM generate_series(1, 60) i ON CONFLICT DO NOTHING;
INSERT INTO leave_request SELECT i, 1 + (i * 7) % 17, CASE WHEN i % 4 <> 0 THEN (ARRAY[1,4,8])[1 + i % 3] END, (ARRAY['vacation','sick','parental','vacation'])[1 + i % 4],
  date '2023-11-02' + i * 9, date '2023-11-05' + i * 10, (ARRAY['approved','pending','rejected','approved','approved'])[1 + i % 5] FROM generate_series(1, 28) i;
INSERT INTO training SELECT i, 1 + (i * 3) % 14, (ARRAY['Safety','Security','First Aid','Leadership'])[1 + (i * 5) % 4], i % 6 <> 0, CASE WHEN i % 7 <> 0 THEN 40 + (i * 17) % 60 END,
  date '2023-01-20' + i * 13 FROM generate_series(1, 37) i;
