-- Quoted CamelCase; a junction with attributes (PatientAllergies); two timestamps an appointment.
CREATE TABLE "Doctors" ("DoctorId" int PRIMARY KEY, "FullName" text NOT NULL, "Specialty" text NOT NULL, "ConsultationFee" numeric(8,2) NOT NULL, "JoinedOn" date NOT NULL);
CREATE TABLE "Patients" ("PatientId" int PRIMARY KEY, "FullName" text NOT NULL, "BirthDate" date NOT NULL, "Gender" text NOT NULL, "City" text NOT NULL,
  "InsuranceProvider" text, "FamilyDoctorId" int REFERENCES "Doctors");
CREATE TABLE "Appointments" ("AppointmentId" int PRIMARY KEY, "PatientId" int NOT NULL REFERENCES "Patients", "DoctorId" int NOT NULL REFERENCES "Doctors",
  "BookedAt" timestamp NOT NULL, "ScheduledAt" timestamp NOT NULL, "Status" text NOT NULL, "DurationMinutes" int NOT NULL);
CREATE TABLE "Medications" ("MedicationId" int PRIMARY KEY, "Name" text NOT NULL, "Manufacturer" text NOT NULL, "UnitCost" numeric(8,2) NOT NULL, "RequiresPrescription" boolean NOT NULL);
CREATE TABLE "Prescriptions" ("PrescriptionId" int PRIMARY KEY, "AppointmentId" int NOT NULL REFERENCES "Appointments", "MedicationId" int NOT NULL REFERENCES "Medications",
  "Days" int NOT NULL, "DailyDose" int NOT NULL);
CREATE TABLE "Allergies" ("AllergyId" int PRIMARY KEY, "Label" text NOT NULL);
CREATE TABLE "PatientAllergies" ("PatientId" int NOT NULL REFERENCES "Patients", "AllergyId" int NOT NULL REFERENCES "Allergies", "Severity" text NOT NULL, PRIMARY KEY ("PatientId", "AllergyId"));
INSERT INTO "Doctors" SELECT i, (ARRAY['Ruth Adler','Samir Haddad','Tessa Blom','Umar Khan','Vera Lang'])[i], (ARRAY['Cardiology','Dermatology','Pediatrics','Cardiology','Neurology'])[i],
  (ARRAY[120,80,70,140,160])[i], date '2012-04-01' + i * 601 FROM generate_series(1, 5) i;
INSERT INTO "Patients" SELECT i, (ARRAY['Amy Stone','Ben Hale','Cora Finch','Dan Reed','Ella Frost','Finn Wade','Gina Marsh','Hal Brook','Iris Dale','Jon Peak','Kay Moor','Leo Glen','Mia Ford','Ned Cove'])[i],
  date '1948-06-20' + i * 1733, CASE WHEN i % 3 = 0 THEN 'male' ELSE 'female' END, (ARRAY['Leeds','York','Hull','Leeds'])[1 + i % 4],
  CASE WHEN i % 4 <> 1 THEN (ARRAY['Axa','Bupa','Vitality'])[1 + i % 3] END, CASE WHEN i % 5 <> 0 THEN 1 + i % 4 END FROM generate_series(1, 14) i;
INSERT INTO "Appointments" SELECT i, 1 + (i * 7) % 13, 1 + (i * i) % 5, timestamp '2023-08-25 10:30' + i * interval '5 days', timestamp '2023-09-04 09:00' + i * interval '6 days 1 hour',
  (ARRAY['completed','cancelled','completed','no-show','completed','scheduled'])[1 + i % 6], 15 + (i % 4) * 10 FROM generate_series(1, 52) i;
INSERT INTO "Medications" SELECT i, (ARRAY['Aspirin','Ibuprofen','Amoxicillin','Metformin','Lisinopril','Cetirizine'])[i], (ARRAY['Bayer','Pfizer','Sandoz','Sandoz','Teva','Bayer'])[i],
  (ARRAY[0.4,0.6,2.5,1.2,1.8,0.9])[i], i BETWEEN 3 AND 5 FROM generate_series(1, 6) i;
INSERT INTO "Prescriptions" SELECT i, 1 + (i * 3) % 50, 1 + (i * 2) % 5, 5 + i % 10, 1 + i % 3 FROM generate_series(1, 33) i;
INSERT INTO "Allergies" VALUES (1, 'Penicillin'), (2, 'Latex'), (3, 'Pollen'), (4, 'Peanuts'), (5, 'Shellfish');
INSERT INTO "PatientAllergies" SELECT 1 + (i * 5) % 12, 1 + i % 4, (ARRAY['mild','severe','moderate'])[1 + i % 3] FROM generate_series(1, 15) i ON CONFLICT DO NOTHING;
