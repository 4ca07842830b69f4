// SPDX-License-Identifier: MIT
// Reading CSV: headers, quotes, line ends, label columns, tables for an existing model, and all messages.
#include "gradwalk/csv.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support.hpp"

namespace gradwalk::csv_test {
namespace {

using testing::ElementsAre, testing::IsEmpty, testing::HasSubstr;
using Header = CsvOptions::Header;
using Separator = CsvOptions::Separator;

std::string message(std::string_view text, const CsvOptions& options = {}) {
  try {
    read_csv(text, options);
  } catch (const CsvError& error) {
    return error.what();
  }
  return "no error";
}

std::string features_message(std::string_view text, const CsvOptions& options = {}) {
  try {
    read_csv_features(text, options);
  } catch (const CsvError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Csv, ReadsRowsBelowAHeader) {
  const Dataset data = read_csv("length,width,species\n1,2.5,setosa\n-3e2,.5,virginica\n5,6,setosa\n");
  EXPECT_EQ(data.columns, 2u);
  EXPECT_EQ(data.rows(), 3u);
  EXPECT_THAT(data.x, ElementsAre(1, 2.5, -300, 0.5, 5, 6));
  EXPECT_THAT(data.labels, ElementsAre(0, 1, 0));
  EXPECT_THAT(data.feature_names, ElementsAre("length", "width"));
  EXPECT_THAT(data.label_names, ElementsAre("setosa", "virginica"));
  EXPECT_THAT(data.row(1), ElementsAre(-300, 0.5));
}

TEST(Csv, ReadsRowsWithoutAHeader) {
  const Dataset data = read_csv("1,2,b\n3,4,a");
  EXPECT_THAT(data.x, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(data.feature_names, ElementsAre("x1", "x2"));
  EXPECT_THAT(data.label_names, ElementsAre("b", "a"));
}

TEST(Csv, AcceptsAByteOrderMarkAnyLineEndBlankLinesAndSpaces) {
  for (const char* end : {"\n", "\r\n", "\r"}) {
    const std::string e = end;
    const Dataset data =
        read_csv("\xef\xbb\xbf" + e + " a , b,c" + e + e + "  1 , +2 ,\tx y " + e + "   " + e + "3,4,z");
    EXPECT_THAT(data.feature_names, ElementsAre("a", "b"));
    EXPECT_THAT(data.x, ElementsAre(1, 2, 3, 4));
    EXPECT_THAT(data.label_names, ElementsAre("x y", "z"));
  }
}

TEST(Csv, ReadsQuotesAsInRfc4180) {
  const Dataset data =
      read_csv("\"a, \"\"b\"\"\",\"two\nlines\",\"c\"\n\"1\", \"2\" ,\" p,\"\"q\"\"\"\n3,4,5\" pipe\n");
  EXPECT_THAT(data.feature_names, ElementsAre("a, \"b\"", "two\nlines"));
  EXPECT_THAT(data.x, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(data.label_names, ElementsAre(" p,\"q\"", "5\" pipe"));
}

TEST(Csv, AcceptsSemicolonsAndTabs) {
  EXPECT_THAT(read_csv("a;b, c;d\n1;2;x").feature_names, ElementsAre("a", "b, c"));
  EXPECT_THAT(read_csv("\"a\tb\",b,d\n1,2,x").feature_names, ElementsAre("a\tb", "b"));
  EXPECT_THAT(read_csv("1\t2\t x").x, ElementsAre(1, 2));
  EXPECT_EQ(message("1\t\tx"),
            "csv: needs a number, got an empty field in line 1, column 2; fill it in, delete the row, or choose how to "
            "treat missing values (train --missing)");
  EXPECT_THAT(read_csv("a;b,d\n1,x", {.separator = Separator::comma}).feature_names, ElementsAre("a;b"));
}

TEST(Csv, DetectsAHeader) {
  EXPECT_EQ(read_csv("0,1,target\n5,6,1\n").feature_names[0], "0");   // names that are numbers, as pandas writes them
  EXPECT_EQ(read_csv("0,1,target\n5,6,a\n").feature_names[0], "x1");  // looks like data
  EXPECT_EQ(read_csv("a,b,1\n5,6,1\n").feature_names[0], "a");
  EXPECT_EQ(read_csv("1,b\n2,3\n", {.label = "b"}).feature_names[0], "1");
  EXPECT_EQ(read_csv("1,2\n2,3\n", {.header = Header::yes}).feature_names[0], "1");
  EXPECT_EQ(read_csv("1,2\n2,3\n", {.header = Header::no}).rows(), 2u);
  EXPECT_EQ(message("a,b\n1,2\n", {.header = Header::no}),
            "csv: needs a number, got 'a' in line 1, column 1; correct it or delete the row");
  EXPECT_EQ(read_csv(",b,c\n1,2,3\n").feature_names[0], "column 1");
}

TEST(Csv, OrdersLabelsThatAreNumbers) {
  const Dataset data = read_csv("5,2\n6,0\n7,1.0\n8,1\n9,10\n9,-1\n");
  EXPECT_THAT(data.label_names, ElementsAre("-1", "0", "1.0", "2", "10"));
  EXPECT_THAT(data.labels, ElementsAre(3, 1, 2, 2, 4, 0));
  EXPECT_THAT(read_csv("5,2\n6,0\n7,b\n").label_names, ElementsAre("2", "0", "b"));
}

TEST(Csv, FindsTheLabelColumnByNumberOrName) {
  const std::string text = "kind,a,b\nx,1,2\ny,3,4\n";
  for (const CsvOptions& options : {CsvOptions{.label = 1}, CsvOptions{.label = -3}, CsvOptions{.label = "kind"}}) {
    const Dataset data = read_csv(text, options);
    EXPECT_THAT(data.feature_names, ElementsAre("a", "b"));
    EXPECT_THAT(data.x, ElementsAre(1, 2, 3, 4));
    EXPECT_THAT(data.label_names, ElementsAre("x", "y"));
  }
}

TEST(CsvLabels, ReportAMissingColumnByName) {
  EXPECT_EQ(message("a,b,c\n1,2,3\n", {.label = "d"}),
            "csv: needs the name of a column in its header (a, b, c) as the label, got 'd'; choose one of them");
  EXPECT_EQ(message("1,2,3\n", {.header = Header::no, .label = "d"}),
            "csv: needs a header to find the label column 'd' in, got none; give the column's number, or add a header");
  for (const int column : {0, 4, -4, std::numeric_limits<int>::max(), std::numeric_limits<int>::min()})
    EXPECT_EQ(message("1,2,3\n", {.label = column}),
              "csv: needs a label column from 1 to 3, or from -1 to -3 from the end, got " + std::to_string(column) +
                  "; choose one of them");
}

TEST(CsvLabels, RejectMeasurements) {
  std::string text = "size,price\n";
  for (int i = 0; i < 1000; ++i) text += "1," + std::to_string(i) + ".5\n";
  EXPECT_EQ(read_csv(text).label_names.size(), 1000u);
  EXPECT_EQ(message(text + "1,7.25"),
            "csv: needs at most 1000 classes, got one more, '7.25' in line 1002, column 2 (price); choose another "
            "label column, or predict its numbers");
}

TEST(CsvLabels, RejectMissingAndUnprintableNames) {
  EXPECT_EQ(message("1,x\n2,\n"),
            "csv: needs a label, got an empty field in line 2, column 2; fill it in or delete the row");
  EXPECT_EQ(message("1,x\n2,NA\n"), "csv: needs a label, got 'NA' in line 2, column 2; fill it in or delete the row");
  EXPECT_THAT(read_csv("1,x\n2,\"NA\"\n").label_names, ElementsAre("x", "NA"));
  EXPECT_EQ(
      message("1,\x1b[2J\n"),
      "csv: needs a name in UTF-8 without control characters, got '?[2J' in line 1, column 2; save the file as UTF-8 "
      "or correct the name");
  EXPECT_EQ(
      message("1,caf\xe9\n"),
      "csv: needs a name in UTF-8 without control characters, got 'caf?' in line 1, column 2; save the file as UTF-8 "
      "or correct the name");
  EXPECT_THAT(read_csv("1,café\n").label_names, ElementsAre("café"));
}

TEST(CsvFeatures, AreReadWithoutLabels) {
  const Table table = read_csv_features("a,b\n1,2\n3,4\n");
  EXPECT_EQ(table.rows(), 2u);
  EXPECT_THAT(table.x, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(table.names, ElementsAre("a", "b"));
  EXPECT_THAT(table.row(1), ElementsAre(3, 4));
  EXPECT_EQ(Table{}.rows(), 0u);
}

TEST(CsvFeatures, AreFoundByNameInAnyOrderForAModel) {
  const CsvOptions model{.features = {"length", "width"}};
  EXPECT_THAT(read_csv_features("id,width,length,kind\nq,2,1,x\n", model).x, ElementsAre(1, 2));
  EXPECT_THAT(read_csv_features("0,1\n8,9\n", {.features = {"1", "0"}}).x, ElementsAre(9, 8));
  EXPECT_EQ(features_message("width,height\n1,2\n", model),
            "csv: needs the column 'length', which the model was trained with, got only width, height in line 1; add "
            "it, or rename a column");
  const Dataset data = read_csv("kind,width,length\nx,2,1\n", {.label = "kind", .features = {"length", "width"}});
  EXPECT_THAT(data.x, ElementsAre(1, 2));
  EXPECT_THAT(data.feature_names, ElementsAre("length", "width"));
  EXPECT_EQ(message("kind,width,length\nx,2,1\n", {.features = {"length", "width"}}),
            "csv: needs a label column that is not a feature of the model, got 'length' in line 1, column 3; choose "
            "another label column");
}

TEST(CsvFeatures, AreFoundByPositionForAModelWithoutAHeader) {
  const CsvOptions model{.features = {"length", "width"}};
  EXPECT_THAT(read_csv_features("1,2\n3,4\n", model).x, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(read_csv_features("1,2,x\n3,4,y\n", model).x, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(read_csv_features("x,1,2\ny,3,4\n", {.label = 1, .features = {"a", "b"}}).x, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(read_csv_features("1,2\n", model).names, ElementsAre("length", "width"));
  EXPECT_EQ(features_message("1\n", model),
            "csv: needs the model's 2 features, got 1 column in line 1; use a file with the same columns, or add a "
            "header that names them");
  EXPECT_EQ(message("1,2\n", model),
            "csv: needs the model's 2 features and a label, got 2 columns in line 1; use a file with the same columns, "
            "or add a header that names them");
}

TEST(CsvFeatures, NeedNoNumbersInOtherColumns) {
  EXPECT_EQ(features_message("a,b\n1,q\n"),
            "csv: needs a number, got 'q' in line 2, column 2 (b); correct it or delete the row");
}

TEST(CsvLabels, KeepTheIndicesOfAModel) {
  const Dataset data = read_csv("1,c\n2,a\n", {.labels = {"a", "b", "c"}});
  EXPECT_THAT(data.labels, ElementsAre(2, 0));
  EXPECT_THAT(data.label_names, ElementsAre("a", "b", "c"));
  EXPECT_THAT(read_csv("1,1.0\n2,0\n", {.labels = {"0", "1"}}).labels, ElementsAre(1, 0));
  EXPECT_EQ(
      message("1,d\n", {.labels = {"a", "b"}}),
      "csv: needs a label that the model knows (a, b), got 'd' in line 1, column 2; correct it or delete the row");
}

const CsvOptions texts{.text_columns = true};

TEST(CsvColumns, BecomeOneFeaturePerCategoryIfTheyHaveText) {
  const Dataset data = read_csv("colour,size,kind\nred,1,a\nblue,2,b\nred,3,a\n", texts);
  EXPECT_THAT(data.feature_names, ElementsAre("colour=red", "colour=blue", "size"));
  EXPECT_EQ(data.columns, 3u);
  EXPECT_THAT(data.x, ElementsAre(1, 0, 1, 0, 1, 2, 1, 0, 3));
  ASSERT_EQ(data.table.size(), 2u);
  EXPECT_EQ(data.table[0], (Column{"colour", {"red", "blue"}}));
  EXPECT_EQ(data.table[1], Column{"size"});
  EXPECT_TRUE(read_csv("a,b\n1,x\n", texts).table.empty());
  CsvOptions other = texts;
  other.other = true;
  EXPECT_THAT(read_csv("colour,kind\nred,1\nblue,2\n", other).feature_names,
              ElementsAre("colour=red", "colour=blue", "colour=(other)"));
  // If the first field is a number, the column is numeric: a text below is an Error, not a category.
  EXPECT_EQ(message("n,kind\n1,a\nx,b\n", texts),
            "csv: needs a number, got 'x' in line 3, column 1 (n); correct it or delete the row");
  std::string many = "t,k\n";
  for (std::size_t i = 0; i <= most_categories; ++i) many += "t" + std::to_string(i) + ",1\n";
  EXPECT_EQ(
      message(many, texts),
      "csv: needs at most 100 different texts in a column, got 't100' in line 102, column 1 (t); leave out the column");
}

TEST(CsvColumns, AreReadWithTheCategoriesOfAModel) {
  CsvOptions options = texts;
  options.features = {"colour", "size"};
  options.table = {{"colour", {"red", "blue"}}, {"size"}};
  const Table table = read_csv_features("size,note,colour\n1,x,blue\n2,y,red\n", options);
  EXPECT_THAT(table.x, ElementsAre(0, 1, 1, 1, 0, 2));
  EXPECT_THAT(table.names, ElementsAre("colour=red", "colour=blue", "size"));
  EXPECT_THAT(read_csv_features("blue,1\nred,2\n", options).x, ElementsAre(0, 1, 1, 1, 0, 2));
  EXPECT_EQ(features_message("colour,size\ngreen,1\n", options),
            "csv: needs a text that the model was trained with (red, blue), got 'green' in line 2, column 1 (colour); "
            "correct it, delete the row, or train with a category for other texts (train --other)");
  EXPECT_EQ(features_message("colour,size\nred,\n", options),
            "csv: needs a number, got an empty field in line 2, column 2 (size); fill it in, delete the row, or train "
            "with missing values filled in (train --missing mean)");
  options.table = {{"colour", {"red", "blue"}, true, 0.0}, {"size", {}, false, 7.0}};
  EXPECT_THAT(read_csv_features("colour,size\ngreen,1\n,NA\n", options).x, ElementsAre(0, 0, 1, 1, 0, 0, 0, 7));
}

TEST(CsvColumns, AreChosenOrDroppedByNameOrNumber) {
  const std::string text = "a,b,c,kind\n1,2,3,x\n4,5,6,y\n";
  EXPECT_THAT(read_csv(text, {.use = {"c", 1}}).x, ElementsAre(3, 1, 6, 4));
  EXPECT_THAT(read_csv(text, {.use = {"c", 1}}).feature_names, ElementsAre("c", "a"));
  EXPECT_THAT(read_csv(text, {.drop = {"b", -2}}).x, ElementsAre(1, 4));
  EXPECT_EQ(message(text, {.use = {"d"}}),
            "csv: needs names of columns in its header (a, b, c, kind), got 'd'; choose some of them");
  EXPECT_EQ(message(text, {.use = {"kind"}}),
            "csv: needs features besides the label, got the label column as a feature in line 1, column 4; choose "
            "another label column");
  EXPECT_EQ(message("1,2\n", {.drop = {3}}), "csv: needs columns from 1 to 2, got 3; choose some of them");
}

TEST(CsvColumns, RejectDropOrKeepRowsWithMissingFields) {
  const std::string text = "a,colour,kind\n1,red,x\n,blue,y\n3,NA,x\n4,red,?\n5,blue,y\n";
  EXPECT_EQ(message(text, texts),
            "csv: needs a number, got an empty field in line 3, column 1 (a); fill it in, delete the row, or choose "
            "how to treat missing values (train --missing)");
  CsvOptions drop = texts, keep = texts;
  drop.missing = CsvOptions::Missing::drop, keep.missing = CsvOptions::Missing::keep;
  const Dataset left = read_csv(text, drop);
  EXPECT_THAT(left.x, ElementsAre(1, 1, 0, 5, 0, 1));
  EXPECT_EQ(left.dropped, 3u);
  EXPECT_EQ(message("a,n,b\n,1,x\n,2,y\n", drop),
            "csv: needs a row without missing fields, got none; fill in some, or drop columns");
  EXPECT_EQ(message(text, keep),
            "csv: needs a label, got '?' in line 5, column 3 (kind); fill it in or delete the row");
  Split data{read_csv("a,colour,kind\n1,red,x\n,blue,y\n5,NA,x\n", keep), {}};
  EXPECT_TRUE(std::isnan(data.train.x[3]));
  data.test = data.train;
  fill_missing(data);
  EXPECT_THAT(data.test.x, ElementsAre(1, 1, 0, 3, 0, 1, 5, 0, 0));
  EXPECT_EQ(data.train.table[0].fill, 3);
  EXPECT_EQ(data.train.table[1].fill, 0);
  Split none{read_csv("a,b,k\n,1,x\n,2,y\n", keep), {}};
  EXPECT_EQ(tests::error_of([&] { fill_missing(none); }),
            "fill_missing: needs a number in the column 'a', got none; leave the column out");
}

TEST(CsvHeaders, AreDetectedAboveTextsOrAskedFor) {
  EXPECT_EQ(read_csv("colour,n\nred,1\nblue,2\n", texts).rows(), 2u);
  EXPECT_EQ(read_csv("red,1\nblue,2\n", texts).rows(), 2u);
  EXPECT_EQ(read_csv("colour,n,kind\nred,,x\nblue,2,y\n", {.text_columns = true, .missing = CsvOptions::Missing::drop})
                .rows(),
            1u);
  EXPECT_EQ(message("colour,kind\nred,x\nblue,y\n", texts),
            "csv: needs to know whether the first line is a header, got only texts in line 1; give --header yes or "
            "--no-header");
  EXPECT_EQ(read_csv("colour,kind\nred,x\n", {.header = CsvOptions::Header::yes, .text_columns = true}).rows(), 1u);
  EXPECT_EQ(read_csv("colour,kind\nred,x\n", {.header = CsvOptions::Header::no, .text_columns = true}).rows(), 2u);
  EXPECT_EQ(read_csv("colour,kind\nred,x\n", {.label = "kind", .text_columns = true}).rows(), 1u);
}

TEST(CsvTargets, AreNumbersUnlessTheyAreTextsOrFewWholeNumbers) {
  const CsvOptions detect{.task = CsvOptions::Task::detect};
  const auto rows = [](int count, auto label) {
    std::string text = "a,cost\n";
    for (int i = 0; i < count; ++i) text += "1," + label(i) + "\n";
    return text;
  };
  const auto whole = [](int i) { return std::to_string(i); };
  EXPECT_EQ(read_csv(rows(20, whole), detect).label_names.size(), 20u);
  const Dataset many = read_csv(rows(21, whole), detect);
  EXPECT_EQ(many.targets.size(), 21u);
  EXPECT_EQ(many.rows(), 21u);
  EXPECT_TRUE(many.label_names.empty());
  EXPECT_EQ(many.target_name, "cost");
  EXPECT_THAT(read_csv("1,2\n1,3\n2,-0.5\n", detect).targets, ElementsAre(2, 3, -0.5));
  EXPECT_EQ(read_csv("1,2\n1,3\n2,-0.5\n", detect).target_name, "y");
  EXPECT_THAT(read_csv("1,2\n1,x\n2,1.5\n", detect).label_names, ElementsAre("2", "x", "1.5"));
  EXPECT_EQ(read_csv(rows(2000, whole), detect).rows(), 2000u);
  EXPECT_THAT(read_csv("1,2\n1,3\n", {.task = CsvOptions::Task::numbers}).targets, ElementsAre(2, 3));
  EXPECT_THAT(read_csv("1,2.5\n1,3\n", {.task = CsvOptions::Task::classes}).label_names, ElementsAre("2.5", "3"));
  EXPECT_EQ(
      message("1,2.5\n1,x\n", detect),
      "csv: needs a number, got 'x' in line 2, column 2; correct it, delete the row, or use the column as classes");
  EXPECT_EQ(message("1,2\n1,x\n", {.task = CsvOptions::Task::numbers}),
            "csv: needs a number, got 'x' in line 2, column 2; correct it or delete the row");
  EXPECT_EQ(
      message("1,2.5\n1,\n", detect),
      "csv: needs a number, got an empty field in line 2, column 2; correct it, delete the row, or use the column "
      "as classes");
}

TEST(CsvErrors, NameThePlaceOfAnInvalidNumber) {
  EXPECT_EQ(message("petal length,petal width,kind\n1,2,x\n1,abc,y\n"),
            "csv: needs a number, got 'abc' in line 3, column 2 (petal width); correct it or delete the row");
  EXPECT_EQ(message("1,,x"),
            "csv: needs a number, got an empty field in line 1, column 2; fill it in, delete the row, or choose how to "
            "treat missing values (train --missing)");
  EXPECT_EQ(message("1,?,x"),
            "csv: needs a number, got '?' in line 1, column 2; fill it in, delete the row, or choose how to treat "
            "missing values (train --missing)");
  EXPECT_EQ(message("1,NaN,x"),
            "csv: needs a finite number, got 'NaN' in line 1, column 2; correct it or delete the row");
  EXPECT_EQ(message("1,-inf,x"),
            "csv: needs a finite number, got '-inf' in line 1, column 2; correct it or delete the row");
  EXPECT_EQ(
      message("1,1e999,x"),
      "csv: needs a number between 5e-324 and 1.8e308, got '1e999' in line 1, column 2; correct it or delete the row");
  EXPECT_EQ(message("1;1,5;x"), "csv: needs a number, got '1,5' in line 1, column 2; write decimals with a point");
  for (const char* text : {"1 2", "0x10", "1e", "+-1", "++1", "- 1", "1.2.3", "one", "1\0"})
    EXPECT_THAT(message("1," + std::string(text) + "_,x"), HasSubstr("needs a number")) << text;
  EXPECT_EQ(message("1," + std::string(500, '7') + "x,x").size(),
            message("1," + std::string(50, '7') + "x,x").size());  // long fields are shortened
}

TEST(CsvErrors, NameThePlaceOfInvalidRowsAndQuotes) {
  EXPECT_EQ(message("a,b,c\n1,2,3\n\n1,2\n"),
            "csv: needs 3 fields, as in line 1, got 2 in line 4; make all rows equally long, and quote fields that "
            "contain a separator");
  EXPECT_EQ(message("1,2,\"x\n\n3,4,y\n"),
            "csv: needs a closing quote, got the end of the text after a quote in line 1, column 3; close it");
  EXPECT_EQ(message("1,2,\"x\"y\n"),
            "csv: needs a separator or the line's end after a closing quote, got 'y' in line 1, column 3; double the "
            "quotes inside a quoted field");
  EXPECT_EQ(message("\"a\n\r\nb\",\"c\rd\",e\n1,q,x\n"),
            "csv: needs a number, got 'q' in line 5, column 2 (c?d); correct it or delete the row");
  EXPECT_EQ(message("a,b,a\n1,2,3\n"),
            "csv: needs columns with different names, got 'a' twice in line 1, column 3; rename one");
}

TEST(CsvErrors, NameWhatIsMissing) {
  EXPECT_EQ(message(""), "csv: needs rows, got an empty text; add some");
  EXPECT_EQ(message("\n  \r\n"), "csv: needs rows, got only blank lines; add some");
  EXPECT_EQ(
      message("a,b\n"),
      "csv: needs rows below its header, got none; add some, or say that there is no header if the first line is data");
  EXPECT_EQ(message("1\n2\n"), "csv: needs features besides the label, got 1 column; add one, or check the separator");
  EXPECT_EQ(message(std::string("\xff\xfe"
                                "1\0,\0",
                                6)),
            "csv: needs text in UTF-8, got UTF-16; save it as UTF-8");
  EXPECT_EQ(message("q", {.name = "my\ndata.csv"}).substr(0, 20), "my?data.csv: needs f");
}

TEST(CsvErrors, HaveLineAndColumn) {
  try {
    read_csv("a,b,c\n1,2,3\n4,x,6\n");
    FAIL();
  } catch (const CsvError& error) {
    EXPECT_EQ(error.line, 3u);
    EXPECT_EQ(error.column, 2u);
  }
}

TEST(CsvErrors, LimitSizes) {
  EXPECT_EQ(message(std::string(longest_csv + 1, '\n')),
            "csv: needs at most 268435456 bytes, got 268435457; use fewer rows");
  std::string wide = "1";
  for (std::size_t i = 1; i < most_csv_columns; ++i) wide += ",1";
  EXPECT_EQ(read_csv(wide).columns, most_csv_columns - 1);
  EXPECT_EQ(message(wide + ",1"),
            "csv: needs at most 100000 columns, got more in line 1; check the separator, or use fewer");
}

}  // namespace
}  // namespace gradwalk::csv_test
